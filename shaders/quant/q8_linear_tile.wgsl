// out[m, n] = finish(sum_k (x[m, k] - zero) * weights[n, k]) of i8, summed in i32, with scales and bias;
// one invocation ROWS x 4 outputs, four k a step. The zero point is taken out at the end, times the
// weights' own sum. k % 4 == 0, n % 4 == 0; ROWS is 1 or 4; rows past the end repeat the last.
// needs: lib/grid lib/q8_real
struct Params {
  to: To,
  n: u32, rows: u32, cols: u32, k: u32,
  scale: f32, zero: i32, bias: u32, none: u32,
}
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> weights: array<u32>;
@group(0) @binding(2) var<storage, read> weight_sums: array<i32>;
@group(0) @binding(3) var<storage, read> weight_scales: array<f32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<quad>;
@group(1) @binding(0) var<uniform> params: Params;

// Where row `row` of x starts, in words.
fn start(row: u32) -> u32 { return min(row, params.rows - 1u) * (params.k / 4u); }

fn dots(a: u32, w: vec4u) -> vec4i {
  return vec4i(dot4(a, w.x), dot4(a, w.y), dot4(a, w.z), dot4(a, w.w));
}

fn store(row: u32, col: u32, acc: vec4i) {
  if (row >= params.rows) { return; }
  let v = vec4f(real(acc.x, col), real(acc.y, col + 1u), real(acc.z, col + 2u), real(acc.w, col + 3u));
  out[(row * params.cols + col) / 4u] = finish4(v);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let tiles = params.cols / 4u;
  let row = i / tiles * ROWS;
  if (row >= params.rows) { return; }
  let col = i % tiles * 4u;
  let words = params.k / 4u;
  let x0 = start(row);
  let x1 = start(row + 1u);
  let x2 = start(row + 2u);
  let x3 = start(row + 3u);
  var a0 = vec4i();
  var a1 = vec4i();
  var a2 = vec4i();
  var a3 = vec4i();
  var sums = vec4i();
  for (var k = 0u; k < words; k++) {
    let at = col * words + k;
    let w = vec4u(weights[at], weights[at + words], weights[at + 2u * words], weights[at + 3u * words]);
    sums += dots(0x01010101u, w);
    a0 += dots(x[x0 + k], w);
    if (ROWS > 1u) {
      a1 += dots(x[x1 + k], w);
      a2 += dots(x[x2 + k], w);
      a3 += dots(x[x3 + k], w);
    }
  }
  let shift = params.zero * sums;
  store(row, col, a0 - shift);
  if (ROWS > 1u) {
    store(row + 1u, col, a1 - shift);
    store(row + 2u, col, a2 - shift);
    store(row + 3u, col, a3 - shift);
  }
}
