// f32 bits as u32 keys in the same order, a NaN above all, -0.0 equal to 0.0: integer comparisons
// hold where a device's float ones may assume that no NaN comes. MIN turns the order round.
override MIN: u32 = 0u;

fn key(bits: u32) -> u32 {
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return 0xffffffffu; }
  let zeroed = select(bits, 0u, bits == 0x80000000u);
  let ordered = select(zeroed | 0x80000000u, ~zeroed, (zeroed >> 31u) == 1u);
  return select(ordered, ~ordered, MIN == 1u);
}

// The bits of a key.
fn unkey(key: u32) -> u32 {
  if (key == 0xffffffffu) { return 0x7fc00000u; }
  let ordered = select(key, ~key, MIN == 1u);
  return select(~ordered, ordered & 0x7fffffffu, (ordered >> 31u) == 1u);
}
