// Walking rank-8 shapes: a flat index into `size`, as an offset under `stride`.
fn strided(index: u32, size: array<vec4u, 2>, stride: array<vec4u, 2>) -> u32 {
  var rest = index;
  var offset = 0u;
  for (var i = 7i; i >= 0i; i--) {
    let n = size[i / 4i][i % 4i];
    offset += (rest % n) * stride[i / 4i][i % 4i];
    rest /= n;
  }
  return offset;
}
