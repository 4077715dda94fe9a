// Half-precision weights, two a word, low half first. Needs no f16 feature.
@group(2) @binding(0) var<storage, read> w: array<u32>;

fn weight4(row: u32, k: u32) -> vec4f {
  let at = (row * params.w.x + k) / 2u;
  return vec4f(unpack2x16float(w[at]), unpack2x16float(w[at + 1u]));
}

fn weight(row: u32, k: u32) -> f32 {
  let at = row * params.w.x + k;
  return unpack2x16float(w[at / 2u])[at % 2u];
}

// Eight weights: k .. k + 3 and k + GAP .. ; pair p begins at pair_at(p).
const GAP = 4u;

fn pair_at(p: u32) -> u32 {
  return p * 8u;
}

fn weight8(row: u32, k: u32) -> array<vec4f, 2> {
  return array(weight4(row, k), weight4(row, k + 4u));
}
