// acc[n, k] += alpha * sum_m d_out[m, n] * x[m, k]; one invocation an output. Any sizes.
// needs: lib/grid
struct Params { m: u32, n: u32, k: u32, alpha: f32 }
@group(0) @binding(0) var<storage, read_write> acc: array<f32>;
@group(0) @binding(1) var<storage, read> d_out: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n * params.k) { return; }
  let n = i / params.k;
  let k = i % params.k;
  var sum = 0.0;
  for (var m = 0u; m < params.m; m++) { sum += d_out[m * params.n + n] * x[m * params.k + k]; }
  acc[i] += params.alpha * sum;
}
