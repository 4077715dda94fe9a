// x read at indices[...] along one axis: out's coordinates walk x by `stride` and the indices by
// `index_stride`. A negative index counts from the end; outside reads zero.
struct Params {
  n: u32, count: u32, along: u32, rank: u32,
  size: array<vec4u, 2>, stride: array<vec4u, 2>, index_stride: array<vec4u, 2>,
}
@group(2) @binding(0) var<storage, read> indices: array<i32>;

fn element(i: u32) -> u32 {
  var rest = i;
  var at = 0u;
  var which = 0u;
  for (var d = 7u; d + params.rank > 7u; d--) {
    let n = params.size[d / 4u][d % 4u];
    at += rest % n * params.stride[d / 4u][d % 4u];
    which += rest % n * params.index_stride[d / 4u][d % 4u];
    rest /= n;
    if (d == 0u) { break; }
  }
  var index = indices[which];
  if (index < 0) { index += i32(params.count); }
  if (index < 0 || index >= i32(params.count)) { return 0u; }
  at += u32(index) * params.along;
  return part(x[at / PER], at);
}
