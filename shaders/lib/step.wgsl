// Numbers that may move between replays: given as (bits, slot); no slot means the bits themselves.
const NO_SLOT = 0xffffffffu;
@group(1) @binding(1) var<uniform> step: array<vec4u, 16>;

fn moving(bits: u32, slot: u32) -> u32 {
  if (slot == NO_SLOT) { return bits; }
  return step[slot / 4u][slot % 4u];
}

fn moving_f32(bits: u32, slot: u32) -> f32 {
  return bitcast<f32>(moving(bits, slot));
}
