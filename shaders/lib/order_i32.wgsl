// i32 bits as u32 keys in the same order; MIN turns it round.
override MIN: u32 = 0u;

fn key(bits: u32) -> u32 {
  let ordered = bits ^ 0x80000000u;
  return select(ordered, ~ordered, MIN == 1u);
}

// The bits of a key.
fn unkey(key: u32) -> u32 {
  return select(key, ~key, MIN == 1u) ^ 0x80000000u;
}
