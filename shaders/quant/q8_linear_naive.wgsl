// out[m, n] = finish(sum_k (x[m, k] - zero) * weights[n, k]) of i8, summed in i32, with scales and bias;
// one invocation an output (lib/out_words) or a word of four (lib/out_int8). Any sizes.
// needs: lib/int8 lib/q8_real
struct Params {
  to: To,
  n: u32, rows: u32, cols: u32, k: u32,
  scale: f32, zero: i32, bias: u32, none: u32,
}
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> weights: array<u32>;
@group(0) @binding(2) var<storage, read> weight_sums: array<i32>;
@group(0) @binding(3) var<storage, read> weight_scales: array<f32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<cell>;
@group(1) @binding(0) var<uniform> params: Params;

fn value(i: u32) -> res {
  let col = i % params.cols;
  let row = i / params.cols * params.k;
  let column = col * params.k;
  var acc = 0;
  for (var k = 0u; k < params.k; k++) {
    let a = byte_of(x[(row + k) / 4u], row + k) - params.zero;
    acc += a * byte_of(weights[(column + k) / 4u], column + k);
  }
  return finish(real(acc, col));
}
