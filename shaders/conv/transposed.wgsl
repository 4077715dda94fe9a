// y[b, o, position] = finish(sum over c and the kernel of weight[c, o, place] * x[b, c, what reaches
// the position from there]): m = o, n = (b, position), k = (c, place). Gathers, so no atomics.
// needs: lib/conv lib/conv_output
fn left(group: u32, m: u32, k: u32, at: vec3u) -> f32 {
  let row = (group * params.digits.x + at.x) * params.m + m;
  return weight[row * area(params.kernel) + at.y * params.digits.z + at.z];
}

fn place(group: u32, n: u32) -> vec3i {
  let c = column(group, n);
  return vec3i(i32(c.x), vec2i(c.yz) + params.padding);
}

fn right(p: vec3i, at: vec3u) -> f32 {
  let far = p.yz - vec2i(at.yz) * params.dilation;
  if (any(far < vec2i())) { return 0.0; }
  let yx = far / params.stride;
  if (any(yx * params.stride != far) || any(yx >= params.size)) { return 0.0; }
  return element(p, at.x, yx);
}
