// out = x broadcast to out's shape; one invocation an element.
// needs: lib/grid lib/strided
struct Params { n: u32, pad0: u32, pad1: u32, pad2: u32, size: array<vec4u, 2>, stride: array<vec4u, 2> }
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i < params.n) { out[i] = x[strided(i, params.size, params.stride)]; }
}
