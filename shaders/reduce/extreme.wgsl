// out[row] = the largest of its terms of x (the smallest with MIN), a NaN if there is one; LANES
// invocations a row. `key` orders bits.
// needs: lib/fold lib/tops
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let row = row_of(wid, groups, local);
  let start = first(min(row, params.n - 1u));
  var top = 0u;
  for (var j = local.x; j < params.terms; j += LANES) { top = max(top, key(x[start + term(j)])); }
  top = row_top(top, local);
  if (row < params.n && local.x == 0u) { out[row] = unkey(top); }
}
