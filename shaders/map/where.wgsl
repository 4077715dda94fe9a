// out = cond ? a : b, all broadcast to out's shape; cond a byte an element. Words move as bits.
// needs: lib/strided
struct Params {
  n: u32, same: u32, pad0: u32, pad1: u32,
  size: array<vec4u, 2>,
  stride_cond: array<vec4u, 2>, stride_a: array<vec4u, 2>, stride_b: array<vec4u, 2>,
}
@group(0) @binding(0) var<storage, read> cond: array<u32>;
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read> b: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<cell>;
@group(1) @binding(0) var<uniform> params: Params;

fn value(i: u32) -> u32 {
  let at = strided(i, params.size, params.stride_cond);
  if (((cond[at / 4u] >> (8u * (at % 4u))) & 255u) != 0u) {
    return a[strided(i, params.size, params.stride_a)];
  }
  return b[strided(i, params.size, params.stride_b)];
}
