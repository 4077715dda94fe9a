// q8_conv of a 1 x 1 kernel in one group: one invocation four channels of out by four pixels, four
// channels of x a step. h * w % 4 == 0, row % 4 == 0, c % 4 == 0; channels past the end repeat the last.
// needs: lib/grid lib/int8 lib/q8_real lib/requant
struct Params {
  to: To,
  n: u32, none: u32, zero: i32, scale: f32,
  bias: u32, transposed: u32, row: u32, tap_step: u32,
  c: u32, h: u32, w: u32, group_c: u32,
  o: u32,
}
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> weights: array<u32>;
@group(0) @binding(2) var<storage, read> weight_sums: array<i32>;
@group(0) @binding(3) var<storage, read> weight_scales: array<f32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<u32>;
@group(1) @binding(0) var<uniform> params: Params;

fn weights4(o: u32, c: u32) -> vec4i {
  return bytes_of(weights[(min(o, params.o - 1u) * params.row + c) / 4u]);
}

fn store(image: u32, o: u32, pixel: u32, acc: vec4i) {
  if (o >= params.o) { return; }
  let codes = vec4i(requantise(real(acc.x, o)), requantise(real(acc.y, o)),
                    requantise(real(acc.z, o)), requantise(real(acc.w, o)));
  out[(image * params.o + o) * (params.h * params.w / 4u) + pixel] = word_of(codes);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let pixels = params.h * params.w / 4u;
  let quads = (params.o + 3u) / 4u;
  let image = i / pixels / quads;
  if (image * params.o * pixels * 4u >= params.n) { return; }
  let pixel = i % pixels;
  let o = i / pixels % quads * 4u;
  var a0 = vec4i();
  var a1 = vec4i();
  var a2 = vec4i();
  var a3 = vec4i();
  for (var c = 0u; c < params.c; c += 4u) {
    let w0 = weights4(o, c);
    let w1 = weights4(o + 1u, c);
    let w2 = weights4(o + 2u, c);
    let w3 = weights4(o + 3u, c);
    for (var j = 0u; j < 4u; j++) {
      let v = bytes_of(x[(image * params.c + c + j) * pixels + pixel]) - params.zero;
      a0 += v * w0[j];
      a1 += v * w1[j];
      a2 += v * w2[j];
      a3 += v * w3[j];
    }
  }
  store(image, o, pixel, a0);
  store(image, o + 1u, pixel, a1);
  store(image, o + 2u, pixel, a2);
  store(image, o + 3u, pixel, a3);
}
