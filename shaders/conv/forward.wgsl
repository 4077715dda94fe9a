// y[b, o, position] = finish(sum over c and the kernel of weight[o, c, place] * x[b, c, where it
// lies]): m = o, n = (b, position), k = (c, place).
// needs: lib/conv lib/conv_output
fn left(group: u32, m: u32, k: u32, at: vec3u) -> f32 {
  return weight[(group * params.m + m) * params.k + k];
}

fn place(group: u32, n: u32) -> vec3i {
  let c = column(group, n);
  return vec3i(i32(c.x), vec2i(c.yz) * params.stride - params.padding);
}

fn right(p: vec3i, at: vec3u) -> f32 {
  let yx = p.yz + vec2i(at.yz) * params.dilation;
  if (any(yx < vec2i()) || any(yx >= params.size)) { return 0.0; }
  return element(p, at.x, yx);
}
