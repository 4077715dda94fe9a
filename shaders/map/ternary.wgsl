// out = f(a, b, c), f linked in, all broadcast to out's shape; one invocation an element.
// needs: lib/grid lib/strided
struct Params {
  attrs: vec4f,
  n: u32, same: u32, pad0: u32, pad1: u32,
  size: array<vec4u, 2>,
  stride_a: array<vec4u, 2>, stride_b: array<vec4u, 2>, stride_c: array<vec4u, 2>,
}
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read> c: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  if (params.same == 1u) {
    out[i] = f(a[i], b[i], c[i]);
  } else {
    let u = a[strided(i, params.size, params.stride_a)];
    let v = b[strided(i, params.size, params.stride_b)];
    out[i] = f(u, v, c[strided(i, params.size, params.stride_c)]);
  }
}
