// Four i8 in a u32 word, the first lowest.
fn byte_of(word: u32, at: u32) -> i32 { return bitcast<i32>(word << (24u - 8u * (at % 4u))) >> 24u; }

fn bytes_of(word: u32) -> vec4i {
  return vec4i(vec4u(word) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u);
}

fn word_of(b: vec4i) -> u32 {
  let c = vec4u(b) & vec4u(255u);
  return c.x | (c.y << 8u) | (c.z << 16u) | (c.w << 24u);
}
