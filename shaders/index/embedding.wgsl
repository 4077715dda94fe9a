// out[i, k] = weight(indices[i], k), zeros for an index outside; one invocation an element.
// needs: lib/grid
struct Params { w: vec4u, n: u32, k: u32, v: u32 }
@group(0) @binding(0) var<storage, read> indices: array<i32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let row = indices[i / params.k];
  if (row < 0 || row >= i32(params.v)) {
    out[i] = 0.0;
  } else {
    out[i] = weight(u32(row), i % params.k);
  }
}
