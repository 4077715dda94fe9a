// GGML Q8_0: 34 bytes a block of 32: f16 d, then 32 signed bytes; value = d * q.
// Blocks lie on 2-byte borders, so a word may straddle two.
// needs: format/halfwords
@group(2) @binding(0) var<storage, read> w: array<u32>;

fn weight4(row: u32, k: u32) -> vec4f {
  let block = 34u * (row * (params.w.x / 32u) + k / 32u);
  return scale_at(block) * vec4f(unpack4xI8(word_at(block + 2u + k % 32u)));
}

fn weight(row: u32, k: u32) -> f32 {
  return weight4(row, k & ~3u)[k & 3u];
}

// Eight weights: k .. k + 3 and k + GAP .. ; pair p begins at pair_at(p).
const GAP = 4u;

fn pair_at(p: u32) -> u32 {
  return p * 8u;
}

fn weight8(row: u32, k: u32) -> array<vec4f, 2> {
  let block = 34u * (row * (params.w.x / 32u) + k / 32u);
  let d = scale_at(block);
  let byte = block + 2u + k % 32u;
  return array(d * vec4f(unpack4xI8(word_at(byte))), d * vec4f(unpack4xI8(word_at(byte + 4u))));
}
