// A convolution as a product in each group: m x k times k x n. k counts in three digits: channel and
// place in the kernel, or, for the weight's gradient, image and place in the output.
struct Params {
  groups: u32, m: u32, n: u32, k: u32,
  digits: vec3u, channels: u32,
  size: vec2i, out: vec2i,
  kernel: vec2i, stride: vec2i,
  padding: vec2i, dilation: vec2i,
  outputs: u32, biased: u32, low: f32, high: f32,
}
@group(1) @binding(0) var<uniform> params: Params;

// k in its digits.
fn split(k: u32) -> vec3u {
  let d = params.digits;
  return vec3u(k / (d.y * d.z), k / d.z % d.y, k % d.z);
}

// The digits of k + 1: no division.
fn next(at: vec3u) -> vec3u {
  var a = at;
  a.z++;
  if (a.z == params.digits.z) {
    a.z = 0u;
    a.y++;
    if (a.y == params.digits.y) {
      a.y = 0u;
      a.x++;
    }
  }
  return a;
}

fn area(size: vec2i) -> u32 { return u32(size.x * size.y); }
