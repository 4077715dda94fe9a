// GGML Q4_1: 20 bytes a block of 32: f16 d, f16 m, then 16 bytes; low nibble = element j,
// high = j + 16; value = d * nibble + m. Five whole words a block.
@group(2) @binding(0) var<storage, read> w: array<u32>;

fn weight4(row: u32, k: u32) -> vec4f {
  let block = 5u * (row * (params.w.x / 32u) + k / 32u);
  let j = k % 32u;
  let dm = unpack2x16float(w[block]);
  let nibbles = (w[block + 1u + (j % 16u) / 4u] >> ((j / 16u) * 4u)) & 0x0f0f0f0fu;
  return vec4f(unpack4xU8(nibbles)) * dm.x + dm.y;
}

fn weight(row: u32, k: u32) -> f32 {
  return weight4(row, k & ~3u)[k & 3u];
}
