// Activations as their codes less the zero point: clamp(rint(x / scale) + zero, -128, 127) - zero, the
// reciprocal of the scale taken first, as torchao does; one scale and zero point a row. And what is done
// with a row's sums.
// needs: lib/int8 lib/divide
struct Params { w: vec4u, m: u32, n: u32, k: u32, bias: u32 }
@group(0) @binding(1) var<storage, read> input_scales: array<f32>;
@group(0) @binding(2) var<storage, read> input_zp: array<u32>;
@group(0) @binding(3) var<storage, read> weight_sums: array<i32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

struct Row { at: u32, inv: f32, scale: f32, zero: f32 }

// Row `row`, or the last one.
fn row_at(row: u32) -> Row {
  let r = min(row, params.m - 1u);
  let s = input_scales[r];
  return Row(r * params.k, divide(1.0, s), s, f32(byte_of(input_zp[r / 4u], r)));
}

fn codes(v: vec4f, r: Row) -> vec4f {
  return clamp(round(v * r.inv) + r.zero, vec4f(-128.0), vec4f(127.0)) - r.zero;
}

fn store(row: u32, col: u32, sum: f32, r: Row) {
  if (row >= params.m || col >= params.n) { return; }
  var value = sum * r.scale;
  if (params.bias == 1u) { value += bias[col]; }
  out[row * params.n + col] = value;
}
