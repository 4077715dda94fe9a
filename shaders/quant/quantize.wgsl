// out = clamp(rint(x / scale) + zero, low, high) as bytes, 1 / scale given.
// needs: lib/out_int8 lib/requant
struct Params { to: To, n: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<cell>;
@group(1) @binding(0) var<uniform> params: Params;

fn value(i: u32) -> i32 { return requantise(x[i]); }
