// out[m, n] = sum_k x[m, k] * weight(n, k) + bias[n]; one invocation an output. Any sizes.
// needs: lib/grid
struct Params { w: vec4u, m: u32, n: u32, k: u32, bias: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.m * params.n) { return; }
  let row = i / params.n;
  let col = i % params.n;
  var sum = 0.0;
  for (var k = 0u; k < params.k; k++) { sum += x[row * params.k + k] * weight(col, k); }
  if (params.bias == 1u) { sum += bias[col]; }
  out[i] = sum;
}
