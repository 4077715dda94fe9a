// out[row] = sum of its terms of x, times `scale` if MEAN; LANES invocations a row. Sums are of 256
// terms, then of those sums: a long row keeps its digits. `elem` is f32 or i32.
// needs: lib/fold
override MEAN: u32 = 0u;
@group(0) @binding(0) var<storage, read> x: array<elem>;
@group(0) @binding(1) var<storage, read_write> out: array<elem>;
var<workgroup> sums: array<elem, ROWS * LANES>;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let row = row_of(wid, groups, local);
  let start = first(min(row, params.n - 1u));
  var total = elem();
  var j = local.x;
  while (j < params.terms) {
    var block = elem();
    for (var k = 0u; k < 256u && j < params.terms; k++) {
      block += x[start + term(j)];
      j += LANES;
    }
    total += block;
  }
  let at = local.y * LANES + local.x;
  if (LANES > 1u) {
    sums[at] = total;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
      if (local.x < half) { sums[at] += sums[at + half]; }
      workgroupBarrier();
    }
    total = sums[local.y * LANES];
  }
  if (MEAN == 1u) { total = elem(f32(total) * params.scale); }
  if (row < params.n && local.x == 0u) { out[row] = total; }
}
