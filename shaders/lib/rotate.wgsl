// Rotary pairs of a head of params.e elements: adjacent ones, or (params.halves) those half of the
// tables' width apart. For the kernel's bindings cos_table and sin_table, params.r wide. Pairs past
// them stay.

// Where the two of pair j lie in their head.
fn pair_of(j: u32) -> vec2u {
  if (params.halves == 1u && j < params.r / 2u) { return vec2u(j, j + params.r / 2u); }
  return vec2u(2u * j, 2u * j + 1u);
}

// Pair j turned by the angles of a table's row, back if params.inverse.
fn turned(pair: vec2f, j: u32, row: u32) -> vec2f {
  let half = select(0u, params.r / 2u, params.halves == 1u);
  if (j >= select(params.r, half, params.halves == 1u)) { return pair; }
  let at = row * params.r + j;
  let c = vec2f(cos_table[at], cos_table[at + half]);
  let s = vec2f(sin_table[at], sin_table[at + half]);
  if (params.inverse == 1u) { return vec2f(pair.x * c.x + pair.y * s.y, pair.y * c.y - pair.x * s.x); }
  return vec2f(pair.x * c.x - pair.y * s.x, pair.y * c.y + pair.x * s.y);
}
