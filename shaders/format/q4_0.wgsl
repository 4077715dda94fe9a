// GGML Q4_0: 18 bytes a block of 32: f16 d, then 16 bytes; low nibble = element j, high = j + 16;
// value = d * (nibble - 8).
// needs: format/halfwords
@group(2) @binding(0) var<storage, read> w: array<u32>;

fn weight4(row: u32, k: u32) -> vec4f {
  let block = 18u * (row * (params.w.x / 32u) + k / 32u);
  let j = k % 32u;
  let nibbles = (word_at(block + 2u + j % 16u) >> ((j / 16u) * 4u)) & 0x0f0f0f0fu;
  return scale_at(block) * (vec4f(unpack4xU8(nibbles)) - 8.0);
}

fn weight(row: u32, k: u32) -> f32 {
  return weight4(row, k & ~3u)[k & 3u];
}
