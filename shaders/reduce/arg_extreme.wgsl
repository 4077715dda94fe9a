// out[row] = index of the largest (MIN: smallest) of its terms of x, the first among equals, a NaN
// above all; LANES invocations a row. `key` orders bits.
// needs: lib/fold lib/tops
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<i32>;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let row = row_of(wid, groups, local);
  let start = first(min(row, params.n - 1u));
  var best = 0u;
  var place = params.terms;
  for (var j = local.x; j < params.terms; j += LANES) {
    let found = key(x[start + term(j)]);
    if (found > best || place == params.terms) {
      best = found;
      place = j;
    }
  }
  let top = row_top(best, local);
  let index = ~row_top(select(0u, ~place, best == top), local);
  if (row < params.n && local.x == 0u) { out[row] = i32(index); }
}
