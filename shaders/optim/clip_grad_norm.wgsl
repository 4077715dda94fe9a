// grads *= min(1, max_norm / (sqrt(total) + 1e-6)); one invocation a gradient.
// needs: lib/grid
struct Params { n: u32, max_norm: f32 }
@group(0) @binding(0) var<storage, read_write> grads: array<f32>;
@group(0) @binding(1) var<storage, read> total: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i < params.n) { grads[i] *= min(1.0, params.max_norm / (sqrt(total[0]) + 1e-6)); }
}
