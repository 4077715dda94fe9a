// out = requantised (x - zero) * scale of i8, each pixel from its channel: depth to space by r, which 1
// leaves in place. A relu is in the requantisation's bounds.
// needs: lib/int8 lib/out_int8 lib/requant
struct Params { to: To, n: u32, scale: f32, zero: i32, r: u32, c: u32, h: u32, w: u32 } // of out
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<cell>;
@group(1) @binding(0) var<uniform> params: Params;

fn origin(i: u32) -> u32 {
  let r = params.r;
  let col = i % params.w;
  let row = i / params.w % params.h;
  let channel = i / params.w / params.h * r * r + row % r * r + col % r; // of the whole batch
  return (channel * (params.h / r) + row / r) * (params.w / r) + col / r;
}

fn value(i: u32) -> i32 {
  let at = origin(i);
  return requantise(f32(byte_of(x[at / 4u], at) - params.zero) * params.scale);
}
