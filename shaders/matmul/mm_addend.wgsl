// What becomes of a product's sum before it is stored: alpha * sum + beta * addend, broadcast by
// its strides. A beta of 0 does not read it, so its NaNs do not count.
@group(2) @binding(0) var<storage, read> addend: array<f32>;

fn finish(sum: f32, row: u32, col: u32) -> f32 {
  if (params.beta == 0.0) { return params.alpha * sum; }
  return params.alpha * sum + params.beta * addend[row * params.stride_row + col * params.stride_col];
}
