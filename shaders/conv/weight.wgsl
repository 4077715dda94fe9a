// d weight[o, c, place] = sum over images and positions of g[b, o, position] * x[b, c, where the
// place lies]: m = o, n = (c, place), k = (b, position).
// needs: lib/conv
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

fn left(group: u32, m: u32, k: u32, at: vec3u) -> f32 {
  let row = at.x * params.outputs + group * params.m + m;
  return g[row * area(params.out) + at.y * params.digits.z + at.z];
}

// The channel of column n, and where its place lies for the first position.
fn place(group: u32, n: u32) -> vec3i {
  let w = u32(params.kernel.y);
  let plane = area(params.kernel);
  let channel = group * (params.channels / params.groups) + n / plane;
  let corner = vec2i(vec2u(n / w % u32(params.kernel.x), n % w)) * params.dilation - params.padding;
  return vec3i(i32(channel), corner);
}

fn right(p: vec3i, at: vec3u) -> f32 {
  let yx = p.yz + vec2i(at.yz) * params.stride;
  if (any(yx < vec2i()) || any(yx >= params.size)) { return 0.0; }
  let row = at.x * params.channels + u32(p.x);
  return x[row * area(params.size) + u32(yx.x * params.size.y + yx.y)];
}

fn store(group: u32, m: u32, n: u32, sum: f32) { out[(group * params.m + m) * params.n + n] = sum; }
