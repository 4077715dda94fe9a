// The largest u32 of a row's lanes, the same in each of them.
// needs: lib/rows
var<workgroup> tops: array<u32, ROWS * LANES>;

fn row_top(value: u32, local: vec3u) -> u32 {
  if (LANES == 1u) { return value; }
  let at = local.y * LANES + local.x;
  tops[at] = value;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (local.x < half) { tops[at] = max(tops[at], tops[at + half]); }
    workgroupBarrier();
  }
  let top = tops[local.y * LANES];
  workgroupBarrier();
  return top;
}
