// out = f(a, b, c), all broadcast to out's shape; f is linked in with how elements are read and stored
// (lib/in_*, lib/out_*).
// needs: lib/strided
struct Params {
  attrs: vec4u,
  n: u32, same: u32, pad0: u32, pad1: u32,
  size: array<vec4u, 2>,
  stride_a: array<vec4u, 2>, stride_b: array<vec4u, 2>, stride_c: array<vec4u, 2>,
}
@group(0) @binding(0) var<storage, read> a: array<word>;
@group(0) @binding(1) var<storage, read> b: array<word>;
@group(0) @binding(2) var<storage, read> c: array<word>;
@group(0) @binding(3) var<storage, read_write> out: array<cell>;
@group(1) @binding(0) var<uniform> params: Params;

fn value(i: u32) -> res {
  if (params.same == 1u) { return f(pick(a[slot(i)], i), pick(b[slot(i)], i), pick(c[slot(i)], i)); }
  let at = strided(i, params.size, params.stride_a);
  let bt = strided(i, params.size, params.stride_b);
  let ct = strided(i, params.size, params.stride_c);
  return f(pick(a[slot(at)], at), pick(b[slot(bt)], bt), pick(c[slot(ct)], ct));
}
