// A workgroup of ROWS x LANES: LANES invocations share a row. LANES = 1 needs no barrier, which a
// software adapter likes; ROWS = 1 spreads a row over the workgroup, which a GPU likes.
override ROWS: u32 = 16u;
override LANES: u32 = 1u;
var<workgroup> partial: array<f32, ROWS * LANES>;

fn row_of(wid: vec3u, groups: vec3u, local: vec3u) -> u32 {
  return (wid.x + wid.y * groups.x) * ROWS + local.y;
}

// The sum of `value` over the lanes of a row, the same in each of them, in a fixed order.
fn row_sum(value: f32, local: vec3u) -> f32 {
  if (LANES == 1u) { return value; }
  let at = local.y * LANES + local.x;
  partial[at] = value;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (local.x < half) { partial[at] += partial[at + half]; }
    workgroupBarrier();
  }
  let total = partial[local.y * LANES];
  workgroupBarrier();
  return total;
}

fn row_max(value: f32, local: vec3u) -> f32 {
  if (LANES == 1u) { return value; }
  let at = local.y * LANES + local.x;
  partial[at] = value;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (local.x < half) { partial[at] = max(partial[at], partial[at + half]); }
    workgroupBarrier();
  }
  let top = partial[local.y * LANES];
  workgroupBarrier();
  return top;
}
