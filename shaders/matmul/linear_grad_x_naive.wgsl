// out[m, k] = sum_n g[m, n] * weight(n, k); one invocation an output. Any sizes.
// needs: lib/grid
struct Params { w: vec4u, m: u32, n: u32, k: u32, pad: u32 }
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.m * params.k) { return; }
  let row = i / params.k;
  let col = i % params.k;
  var sum = 0.0;
  for (var n = 0u; n < params.n; n++) { sum += g[row * params.n + n] * weight(n, col); }
  out[i] = sum;
}
