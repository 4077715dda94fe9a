// x = low + width * a uniform number a counter gives; one invocation an element.
// needs: lib/grid lib/random
struct Params { n: u32, seed: u32, stream: u32, low: f32, width: f32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i < params.n) { x[i] = params.low + params.width * uniform01(i, params.seed, params.stream); }
}
