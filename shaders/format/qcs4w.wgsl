// ExecuTorch qcs4w: codes u8 [rows, p], even k in the HIGH nibble, offset 8; one scale a row.
// params.w = (k, 0, 0, p).
@group(2) @binding(0) var<storage, read> w: array<u32>;
@group(2) @binding(1) var<storage, read> w_scale: array<f32>;

fn weight4(row: u32, k: u32) -> vec4f {
  let byte = row * params.w.w + k / 2u;
  let bits = w[byte / 4u] >> ((byte & 2u) * 8u);
  let codes = vec4u(bits >> 4u, bits, bits >> 12u, bits >> 8u) & vec4u(15u);
  return (vec4f(codes) - 8.0) * w_scale[row];
}

fn weight(row: u32, k: u32) -> f32 {
  let byte = row * params.w.w + k / 2u;
  let code = (w[byte / 4u] >> ((byte % 4u) * 8u + ((k + 1u) % 2u) * 4u)) & 15u;
  return (f32(code) - 8.0) * w_scale[row];
}

// Eight weights: k .. k + 3 and k + GAP .. ; pair p begins at pair_at(p).
const GAP = 4u;

fn pair_at(p: u32) -> u32 {
  return p * 8u;
}

fn weight8(row: u32, k: u32) -> array<vec4f, 2> {
  return array(weight4(row, k), weight4(row, k + 4u));
}
