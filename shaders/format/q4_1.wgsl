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

// Eight weights of one word and one scale: k .. k + 3, and as far on as GAP says.
const GAP = 16u;

fn pair_at(p: u32) -> u32 {
  return p / 4u * 32u + p % 4u * 4u;
}

fn weight8(row: u32, k: u32) -> array<vec4f, 2> {
  let block = 5u * (row * (params.w.x / 32u) + k / 32u);
  let dm = unpack2x16float(w[block]);
  let word = w[block + 1u + k % 32u / 4u];
  let low = vec4f(unpack4xU8(word & 0x0f0f0f0fu));
  let high = vec4f(unpack4xU8((word >> 4u) & 0x0f0f0f0fu));
  return array(low * dm.x + dm.y, high * dm.x + dm.y);
}
