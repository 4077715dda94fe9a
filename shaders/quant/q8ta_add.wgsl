// out = requantised a + alpha * b of i8, each rounded as f32 rounds it; both broadcast to out's shape.
// needs: lib/int8 lib/fence lib/out_int8 lib/requant lib/strided
struct Params {
  to: To,
  n: u32, none: u32, a_zero: i32, b_zero: i32,
  a_scale: f32, b_scale: f32, alpha: f32, same: u32,
  size: array<vec4u, 2>,
  stride_a: array<vec4u, 2>, stride_b: array<vec4u, 2>,
}
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<cell>;
@group(1) @binding(0) var<uniform> params: Params;

fn value(i: u32) -> i32 {
  var at = i;
  var bt = i;
  if (params.same == 0u) {
    at = strided(i, params.size, params.stride_a);
    bt = strided(i, params.size, params.stride_b);
  }
  let left = f32(byte_of(a[at / 4u], at) - params.a_zero) * params.a_scale;
  let right = f32(byte_of(b[bt / 4u], bt) - params.b_zero) * params.b_scale;
  return requantise(fence(left) + fence(params.alpha * right));
}
