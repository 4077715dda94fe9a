// The adjoint of reading along an axis: out[.., c, ..] = sum of g[.., j, ..] over the j whose index
// is c, in order of j; one invocation an output that reads every index of its line: no atomics, so
// always the same sum. `size` is out's; coordinates from `limit` on were never read.
// needs: lib/grid
struct Params {
  n: u32, count: u32, axis: u32, terms: u32,
  along: u32, index_along: u32, pad0: u32, pad1: u32,
  size: array<vec4u, 2>, limit: array<vec4u, 2>,
  stride: array<vec4u, 2>, index_stride: array<vec4u, 2>,
}
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read> indices: array<i32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  var rest = i;
  var at = 0u;
  var which = 0u;
  var wanted = 0;
  var known = true;
  for (var k = 0u; k < 8u; k++) {
    let d = 7u - k;
    let c = rest % params.size[d / 4u][d % 4u];
    rest /= params.size[d / 4u][d % 4u];
    at += c * params.stride[d / 4u][d % 4u];
    which += c * params.index_stride[d / 4u][d % 4u];
    if (d == params.axis) { wanted = i32(c); }
    known = known && c < params.limit[d / 4u][d % 4u];
  }
  var sum = 0.0;
  for (var j = 0u; known && j < params.terms; j++) {
    var index = indices[which + j * params.index_along];
    if (index < 0) { index += i32(params.count); }
    if (index == wanted) { sum += g[at + j * params.along]; }
  }
  out[i] = sum;
}
