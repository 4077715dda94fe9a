// Reads of a byte-addressed weight at even addresses.
fn scale_at(byte: u32) -> f32 {
  return unpack2x16float(w[byte / 4u] >> ((byte & 2u) * 8u)).x;
}

fn word_at(byte: u32) -> u32 {
  let low = w[byte / 4u];
  if ((byte & 2u) == 0u) { return low; }
  return (low >> 16u) | (w[byte / 4u + 1u] << 16u);
}
