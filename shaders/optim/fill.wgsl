// x = value everywhere; one invocation an element.
// needs: lib/grid lib/step
struct Params { n: u32, value: u32, value_slot: u32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i < params.n) { x[i] = moving_f32(params.value, params.value_slot); }
}
