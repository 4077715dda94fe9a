// The tensors of a convolution, and where its columns lie: n = (image, position of y).
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

// Where the image and group of column n begin in x, and its row and column in y.
fn column(group: u32, n: u32) -> vec3u {
  let w = u32(params.out.y);
  let plane = area(params.out);
  let start = (n / plane * params.channels + group * params.digits.x) * area(params.size);
  return vec3u(start, n / w % u32(params.out.x), n % w);
}

// The element of x at yx of the plane that c channels after p's first is.
fn element(p: vec3i, c: u32, yx: vec2i) -> f32 {
  return x[u32(p.x) + c * area(params.size) + u32(yx.x * params.size.y + yx.y)];
}

fn store(group: u32, m: u32, n: u32, sum: f32) {
  let plane = area(params.out);
  let o = group * params.m + m;
  var value = sum;
  if (params.biased == 1u) { value += bias[o]; }
  out[(n / plane * params.outputs + o) * plane + n % plane] = finish(value);
}
