// Plain f32 weights, [rows, k].
@group(2) @binding(0) var<storage, read> w: array<vec4f>;

fn weight4(row: u32, k: u32) -> vec4f {
  return w[(row * params.w.x + k) / 4u];
}

fn weight(row: u32, k: u32) -> f32 {
  let at = row * params.w.x + k;
  return w[at / 4u][at % 4u];
}
