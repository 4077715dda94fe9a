// out[b, m, n] = finish(sum_k a[b, m, k] * b[b, k, n]); one invocation an output. Any sizes.
// needs: lib/grid
struct Params {
  batch: u32, m: u32, n: u32, k: u32,
  alpha: f32, beta: f32, stride_row: u32, stride_col: u32,
}
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.batch * params.m * params.n) { return; }
  let row = i / params.n;
  let col = i % params.n;
  let right = row / params.m * params.k * params.n + col;
  var sum = 0.0;
  for (var k = 0u; k < params.k; k++) { sum += a[row * params.k + k] * b[right + k * params.n]; }
  out[i] = finish(sum, row % params.m, col);
}
