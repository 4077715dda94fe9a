// ExecuTorch q4gsw: codes u8 [rows, p], even k in the low nibble, offset 8; scales [k / group, stride].
// params.w = (k, group size, scale stride, p).
@group(2) @binding(0) var<storage, read> w: array<u32>;
@group(2) @binding(1) var<storage, read> w_scale: array<f32>;

fn scale_of(row: u32, k: u32) -> f32 {
  return w_scale[(k / params.w.y) * params.w.z + row];
}

fn weight4(row: u32, k: u32) -> vec4f {
  let byte = row * params.w.w + k / 2u;
  let bits = w[byte / 4u] >> ((byte & 2u) * 8u);
  let codes = vec4u(bits, bits >> 4u, bits >> 8u, bits >> 12u) & vec4u(15u);
  return (vec4f(codes) - 8.0) * scale_of(row, k);
}

fn weight(row: u32, k: u32) -> f32 {
  let byte = row * params.w.w + k / 2u;
  let code = (w[byte / 4u] >> ((byte % 4u) * 8u + (k % 2u) * 4u)) & 15u;
  return (f32(code) - 8.0) * scale_of(row, k);
}

// Eight weights: k .. k + 3 and k + GAP .. ; pair p begins at pair_at(p).
const GAP = 4u;

fn pair_at(p: u32) -> u32 {
  return p * 8u;
}

fn weight8(row: u32, k: u32) -> array<vec4f, 2> {
  let bits = w[(row * params.w.w + k / 2u) / 4u];
  let low = vec4u(bits, bits >> 4u, bits >> 8u, bits >> 12u) & vec4u(15u);
  let high = vec4u(bits >> 16u, bits >> 20u, bits >> 24u, bits >> 28u) & vec4u(15u);
  let s = scale_of(row, k);
  return array((vec4f(low) - 8.0) * s, (vec4f(high) - 8.0) * s);
}
