// out[r] = (r % w + offset, r / w + offset) * stride; one invocation a row. x is only measured.
// needs: lib/grid
struct Params { n: u32, w: u32, stride: f32, offset: f32 }
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<vec2f>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  out[i] = (vec2f(vec2u(i % params.w, i / params.w)) + params.offset) * params.stride;
}
