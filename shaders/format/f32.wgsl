// Plain f32 weights, [rows, k].
@group(2) @binding(0) var<storage, read> w: array<vec4f>;

fn weight4(row: u32, k: u32) -> vec4f {
  return w[(row * params.w.x + k) / 4u];
}

fn weight(row: u32, k: u32) -> f32 {
  let at = row * params.w.x + k;
  return w[at / 4u][at % 4u];
}

// Eight weights: k .. k + 3 and k + GAP .. ; pair p begins at pair_at(p).
const GAP = 4u;

fn pair_at(p: u32) -> u32 {
  return p * 8u;
}

fn weight8(row: u32, k: u32) -> array<vec4f, 2> {
  return array(weight4(row, k), weight4(row, k + 4u));
}
