// out = (x - zero) * scale of bytes; `flip` is the sign's bit, 128 of i8 and 0 of u8.
// needs: lib/out_words
struct Params { scale: f32, zero: i32, flip: i32, n: u32 }
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<cell>;
@group(1) @binding(0) var<uniform> params: Params;

fn value(i: u32) -> res {
  let byte = i32((x[i / 4u] >> (8u * (i % 4u))) & 255u);
  return f32((byte ^ params.flip) - params.flip - params.zero) * params.scale;
}
