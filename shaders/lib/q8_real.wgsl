// An i32 sum of codes' products as a real number: acc * scale * scales[col] + bias[col], every step
// rounded as f32 rounds it.
// needs: lib/fence
fn product(acc: i32, col: u32) -> f32 { return f32(acc) * params.scale * weight_scales[col]; }

fn real(acc: i32, col: u32) -> f32 {
  let v = product(acc, col);
  if (params.bias == 0u) { return v; }
  return fence(v) + bias[col];
}
