// A product by 16 x 16 subgroup matrices: GR x GC subgroups of 32 make WM x WN outputs, SR x SC
// matrices each; f16 slices of DEPTH along the inner size in workgroup memory, f32 sums. A slice's
// lines are rows (columns of b), or with A_ACROSS, B_ACROSS = 1 the inner size's. The kernel gives
// a_four and b_eight (line, along it): the eight lie as format/ has it, pair_at and GAP. It has its
// outputs in `out`, and emit(row, col, sum) stores one of them.
enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);
diagnostic(off, subgroup_uniformity);
alias Left = subgroup_matrix_left<f16, 16, 16>;
alias Right = subgroup_matrix_right<f16, 16, 16>;
alias Sum = subgroup_matrix_result<f32, 16, 16>;
alias Sums = array<Sum, SR * SC>;
const LANES = 32u * GR * GC;
const WM = 16u * SR * GR;
const WN = 16u * SC * GC;
const DEPTH = 32u;
// Pitches and places in a slice count fours; two more than a line holds: lines begin on other banks.
const A_FOURS = select(DEPTH, WM, A_ACROSS == 1u) / 4u;
const B_FOURS = select(DEPTH, WN, B_ACROSS == 1u) / 4u;
const A_PITCH = A_FOURS + 2u;
const B_PITCH = B_FOURS + 2u;
const A_MINE = WM * DEPTH / 4u / LANES; // fours an invocation fetches, and eights
const B_MINE = WN * DEPTH / 8u / LANES;
struct Fetched { a: array<vec4f, A_MINE>, b: array<array<vec4f, 2>, B_MINE> }
var<workgroup> slice_a: array<vec4h, A_PITCH * select(WM, DEPTH, A_ACROSS == 1u)>;
var<workgroup> slice_b: array<vec4h, B_PITCH * select(WN, DEPTH, B_ACROSS == 1u)>;
var<workgroup> edge: array<f32, GR * GC * 256u>;

fn fetch(lane: u32, tile: vec2u, k: u32) -> Fetched {
  let a = select(vec2u(tile.x, k), vec2u(k, tile.x), A_ACROSS == 1u);
  let b = select(vec2u(tile.y, k), vec2u(k, tile.y), B_ACROSS == 1u);
  var got: Fetched;
  for (var i = 0u; i < A_MINE; i++) {
    let e = lane + i * LANES;
    got.a[i] = a_four(a.x + e / A_FOURS, a.y + e % A_FOURS * 4u);
  }
  for (var i = 0u; i < B_MINE; i++) {
    let e = lane + i * LANES;
    got.b[i] = b_eight(b.x + e / (B_FOURS / 2u), b.y + pair_at(e % (B_FOURS / 2u)));
  }
  return got;
}

fn stash(lane: u32, got: ptr<function, Fetched>) {
  for (var i = 0u; i < A_MINE; i++) {
    let e = lane + i * LANES;
    slice_a[e / A_FOURS * A_PITCH + e % A_FOURS] = vec4h((*got).a[i]);
  }
  for (var i = 0u; i < B_MINE; i++) {
    let e = lane + i * LANES;
    let at = e / (B_FOURS / 2u) * B_PITCH + pair_at(e % (B_FOURS / 2u)) / 4u;
    slice_b[at] = vec4h((*got).b[i][0]);
    slice_b[at + GAP / 4u] = vec4h((*got).b[i][1]);
  }
}

fn left_at(row: u32, k: u32) -> Left {
  if (A_ACROSS == 1u) {
    return subgroupMatrixLoad<Left, col_major>(&slice_a, k * A_PITCH + row / 4u, A_PITCH);
  }
  return subgroupMatrixLoad<Left, row_major>(&slice_a, row * A_PITCH + k / 4u, A_PITCH);
}

fn right_at(k: u32, col: u32) -> Right {
  if (B_ACROSS == 1u) {
    return subgroupMatrixLoad<Right, row_major>(&slice_b, k * B_PITCH + col / 4u, B_PITCH);
  }
  return subgroupMatrixLoad<Right, col_major>(&slice_b, col * B_PITCH + k / 4u, B_PITCH);
}

// Where a subgroup's outputs begin in the workgroup's tile.
fn corner(lane: u32) -> vec2u {
  let subgroup = lane / 32u;
  return vec2u(subgroup / GC * 16u * SR, subgroup % GC * 16u * SC);
}

fn add_slices(sums: ptr<function, Sums>, lane: u32) {
  let start = corner(lane);
  for (var k = 0u; k < DEPTH; k += 16u) {
    var left: array<Left, SR>;
    for (var r = 0u; r < SR; r++) { left[r] = left_at(start.x + 16u * r, k); }
    for (var c = 0u; c < SC; c++) {
      let right = right_at(k, start.y + 16u * c);
      for (var r = 0u; r < SR; r++) {
        (*sums)[r * SC + c] = subgroupMatrixMultiplyAccumulate(left[r], right, (*sums)[r * SC + c]);
      }
    }
  }
}

// The tile's sums over k of begin .. end; the next slices are read while these are multiplied.
fn multiply(sums: ptr<function, Sums>, lane: u32, tile: vec2u, begin: u32, end: u32) {
  var next = fetch(lane, tile, begin);
  for (var k = begin; k < end; k += DEPTH) {
    stash(lane, &next);
    workgroupBarrier();
    if (k + DEPTH < end) { next = fetch(lane, tile, k + DEPTH); }
    add_slices(sums, lane);
    workgroupBarrier();
  }
}

// Outputs straight to `out`, whose element at (row, col) of the tile is base + row * pitch + col.
fn store_whole(sums: ptr<function, Sums>, lane: u32, base: u32, pitch: u32) {
  let start = corner(lane);
  for (var r = 0u; r < SR; r++) {
    for (var c = 0u; c < SC; c++) {
      let at = base + (start.x + 16u * r) * pitch + start.y + 16u * c;
      subgroupMatrixStore<row_major>(&out, at, (*sums)[r * SC + c], pitch);
    }
  }
}

// Outputs one by one through emit: at an edge, or where something is added.
fn store_each(sums: ptr<function, Sums>, lane: u32, tile: vec2u) {
  let start = tile + corner(lane);
  let mine = lane / 32u * 256u;
  for (var r = 0u; r < SR; r++) {
    for (var c = 0u; c < SC; c++) {
      subgroupMatrixStore<row_major>(&edge, mine, (*sums)[r * SC + c], 16u);
      workgroupBarrier();
      for (var i = lane % 32u; i < 256u; i += 32u) {
        emit(start.x + 16u * r + i / 16u, start.y + 16u * c + i % 16u, edge[mine + i]);
      }
      workgroupBarrier();
    }
  }
}
