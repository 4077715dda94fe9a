// Planes of `size` seen through windows, `out` of them down and across; a launch has n items.
struct Params {
  n: u32, divisor: i32, padded: u32, pad0: u32,
  size: vec2i, out: vec2i,
  kernel: vec2i, stride: vec2i,
  padding: vec2i, dilation: vec2i,
}
@group(1) @binding(0) var<uniform> params: Params;

// Row and column of item i, in planes of that size.
fn spot(i: u32, size: vec2i) -> vec2i {
  return vec2i(vec2u(i / u32(size.y) % u32(size.x), i % u32(size.y)));
}

// Where the plane of item i begins among planes of `other`, itself of planes of that size.
fn plane(i: u32, size: vec2i, other: vec2i) -> u32 {
  return i / u32(size.x * size.y) * u32(other.x * other.y);
}
