// A product by 16 x 16 subgroup matrices: GR x GC subgroups of 32 make WM x WN outputs, SR x SC
// matrices each; f16 slices of DEPTH along the inner size in workgroup memory, f32 sums. A slice lies
// with the inner size running fastest, or (A_ACROSS, B_ACROSS = 1) slowest. The kernel fills slices
// with put_a and put_b, has the outputs in `out` and says with emit(row, col, sum) what stays.
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
const A_PITCH = 2u + select(DEPTH, WM, A_ACROSS == 1u) / 4u;
const B_PITCH = 2u + select(DEPTH, WN, B_ACROSS == 1u) / 4u;
var<workgroup> slice_a: array<vec4h, A_PITCH * select(WM, DEPTH, A_ACROSS == 1u)>;
var<workgroup> slice_b: array<vec4h, B_PITCH * select(WN, DEPTH, B_ACROSS == 1u)>;
var<workgroup> edge: array<f32, GR * GC * 256u>;

fn put_a(at: u32, v: vec4f) { slice_a[at] = vec4h(v); }

fn put_b(at: u32, v: vec4f) { slice_b[at] = vec4h(v); }

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
