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
