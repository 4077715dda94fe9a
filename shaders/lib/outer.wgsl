// A product by outer products: TX x TY invocations make WM x WN outputs, RM x RN each, from slices of
// 16 along the inner size in workgroup memory (64 * (WM + WN) bytes). The kernel fills the slices with
// put_a and put_b, four rows or columns at one k; RM and RN are 4 or 8, WM and WN multiples of 32.
const WM = RM * TY;
const WN = RN * TX;
const A4 = WM / 4u;
const B4 = WN / 4u;
const C4 = RN / 4u;
const LANES = TX * TY;
alias Sums = array<vec4f, RM * C4>;
var<workgroup> slice_a: array<vec4f, 16u * A4>;
var<workgroup> slice_b: array<vec4f, 16u * B4>;

// Where four at k lie: the twist keeps lanes that write a transposed block off each other's banks.
fn twist(k: u32, four: u32) -> u32 { return four ^ (k / 4u * 2u); }

fn put_a(k: u32, row4: u32, v: vec4f) { slice_a[k * A4 + twist(k, row4)] = v; }

fn put_b(k: u32, col4: u32, v: vec4f) { slice_b[k * B4 + twist(k, col4)] = v; }

// Four rows at k .. k + 3, as four k of four rows each.
fn put_a_rows(k: u32, row4: u32, r: mat4x4f) {
  let t = transpose(r);
  for (var i = 0u; i < 4u; i++) { put_a(k + i, row4, t[i]); }
}

fn put_b_rows(k: u32, col4: u32, r: mat4x4f) {
  let t = transpose(r);
  for (var i = 0u; i < 4u; i++) { put_b(k + i, col4, t[i]); }
}

// sums[r * C4 + c] is row 4 * (r / 4 * TY + y) + r % 4 of the tile, columns from 4 * (c * TX + x).
fn add_slices(sums: ptr<function, Sums>, local: vec3u) {
  for (var k = 0u; k < 16u; k++) {
    var b: array<vec4f, C4>;
    for (var c = 0u; c < C4; c++) { b[c] = slice_b[k * B4 + twist(k, c * TX + local.x)]; }
    for (var r = 0u; r < RM / 4u; r++) {
      let a = slice_a[k * A4 + twist(k, r * TY + local.y)];
      for (var c = 0u; c < C4; c++) {
        let at = r * 4u * C4 + c;
        (*sums)[at] = fma(vec4f(a.x), b[c], (*sums)[at]);
        (*sums)[at + C4] = fma(vec4f(a.y), b[c], (*sums)[at + C4]);
        (*sums)[at + 2u * C4] = fma(vec4f(a.z), b[c], (*sums)[at + 2u * C4]);
        (*sums)[at + 3u * C4] = fma(vec4f(a.w), b[c], (*sums)[at + 3u * C4]);
      }
    }
  }
}

fn tile_row(r: u32, local: vec3u) -> u32 { return 4u * (r / 4u * TY + local.y) + r % 4u; }

fn tile_col(c: u32, local: vec3u) -> u32 { return 4u * (c * TX + local.x); }
