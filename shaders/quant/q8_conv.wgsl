// out[n, o, y, x] = requantised (sum of (x - zero) * weight over the taps inside the image), in i32, with
// scales and bias: a tap outside adds nothing, so padding is the real 0. Plain, grouped, depthwise and
// transposed: a weight lies at o * row + tap * tap_step + channel. One invocation four bytes. Any sizes.
// needs: lib/int8 lib/q8_real lib/requant lib/out_int8
struct Params {
  to: To,
  n: u32, none: u32, zero: i32, scale: f32,
  bias: u32, transposed: u32, row: u32, tap_step: u32,
  c: u32, h: u32, w: u32, group_c: u32, // of x; channels of a group
  o: u32, ho: u32, wo: u32, group_o: u32, // of out
  size: vec2u, stride: vec2u, padding: vec2u, dilation: vec2u,
}
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> weights: array<u32>;
@group(0) @binding(2) var<storage, read> weight_sums: array<i32>;
@group(0) @binding(3) var<storage, read> weight_scales: array<f32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<cell>;
@group(1) @binding(0) var<uniform> params: Params;

// The row or column of x that output `at` meets under tap `tap` of axis `d`; outside: no less than size.
fn source(at: u32, tap: u32, d: u32) -> u32 {
  let reach = tap * params.dilation[d];
  if (params.transposed == 0u) { return at * params.stride[d] + reach - params.padding[d]; }
  let t = at + params.padding[d] - reach;
  if (at + params.padding[d] < reach || t % params.stride[d] != 0u) { return 0xffffffffu; }
  return t / params.stride[d];
}

// The taps' sum over the channels of a group, at a pixel of x.
fn channels(from_x: u32, from_w: u32) -> i32 {
  var acc = 0;
  for (var c = 0u; c < params.group_c; c++) {
    let at = from_x + c * params.h * params.w;
    let wt = from_w + c;
    acc += (byte_of(x[at / 4u], at) - params.zero) * byte_of(weights[wt / 4u], wt);
  }
  return acc;
}

fn value(i: u32) -> i32 {
  let col = i % params.wo;
  let row = i / params.wo % params.ho;
  let o = i / params.wo / params.ho % params.o;
  let image = i / params.wo / params.ho / params.o;
  let first = image * params.c + o / params.group_o * params.group_c;
  var acc = 0;
  for (var ky = 0u; ky < params.size.x; ky++) {
    let y = source(row, ky, 0u);
    if (y >= params.h) { continue; }
    for (var kx = 0u; kx < params.size.y; kx++) {
      let at = source(col, kx, 1u);
      if (at >= params.w) { continue; }
      let tap = o * params.row + (ky * params.size.y + kx) * params.tap_step;
      acc += channels((first * params.h + y) * params.w + at, tap);
    }
  }
  return requantise(real(acc, o));
}
