// out[m, n] = sum_k x[m, k] * weight(n, k) + bias[n]; a workgroup WM x WN outputs through workgroup
// memory, an invocation RM x RN. For many rows on a GPU. k % 16 == 0.
// needs: lib/outer
struct Params { w: vec4u, m: u32, n: u32, k: u32, bias: u32 }
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

// Block b of a slice: four rows of x, or four of the weight, at k .. k + 3.
fn fill(b: u32, row: u32, col: u32, k: u32) {
  let at = k + 4u * (b % 4u);
  if (b < WM) {
    let last = params.m - 1u;
    let r = row + b / 4u * 4u;
    let k4 = params.k / 4u;
    let into = at / 4u;
    put_a_rows(4u * (b % 4u), b / 4u, mat4x4f(
      x[min(r, last) * k4 + into], x[min(r + 1u, last) * k4 + into],
      x[min(r + 2u, last) * k4 + into], x[min(r + 3u, last) * k4 + into]));
  } else {
    let last = params.n - 1u;
    let four = (b - WM) / 4u;
    let c = col + 4u * four;
    put_b_rows(4u * (b % 4u), four, mat4x4f(
      weight4(min(c, last), at), weight4(min(c + 1u, last), at),
      weight4(min(c + 2u, last), at), weight4(min(c + 3u, last), at)));
  }
}

@compute @workgroup_size(TX, TY)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let down = (params.m + WM - 1u) / WM;
  let tile = wid.x + wid.y * groups.x;
  let row = tile % down * WM; // neighbours share the weight's rows
  let col = tile / down * WN;
  var sums: Sums;
  for (var k = 0u; k < params.k; k += 16u) {
    for (var b = lane; b < WM + WN; b += LANES) { fill(b, row, col, k); }
    workgroupBarrier();
    add_slices(&sums, local);
    workgroupBarrier();
  }
  for (var r = 0u; r < RM; r++) {
    let m = row + tile_row(r, local);
    for (var c = 0u; c < RN; c++) {
      let n = col + tile_col(c / 4u, local) + c % 4u;
      if (m < params.m && n < params.n) {
        var value = sums[r * C4 + c / 4u][c % 4u];
        if (params.bias == 1u) { value += bias[n]; }
        out[m * params.n + n] = value;
      }
    }
  }
}
