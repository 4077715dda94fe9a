// out[kept] = sum of x over `walk`, the dims that broadcasting had added; one invocation an output.
// needs: lib/grid lib/strided
struct Params {
  n: u32, terms: u32, pad0: u32, pad1: u32,
  kept: array<vec4u, 2>, walk: array<vec4u, 2>, stride: array<vec4u, 2>,
}
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let base = strided(i, params.kept, params.stride);
  var sum = 0.0;
  for (var j = 0u; j < params.terms; j++) { sum += x[base + strided(j, params.walk, params.stride)]; }
  out[i] = sum;
}
