// out[row] = index of the row's largest x, the first among equals; a workgroup a row.
// needs: lib/rows
struct Params { rows: u32, n: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<i32>;
@group(1) @binding(0) var<uniform> params: Params;
var<workgroup> best_index: array<u32, LANES>;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let row = min(row_of(wid, groups, local), params.rows - 1u);
  let at = row * params.n;
  var best = min(local.x, params.n - 1u);
  for (var i = local.x; i < params.n; i += LANES) {
    if (x[at + i] > x[at + best]) { best = i; }
  }
  let top = row_max(x[at + best], local);
  best_index[local.x] = select(params.n, best, x[at + best] == top);
  workgroupBarrier();
  if (local.x != 0u) { return; }
  var first = best_index[0];
  for (var lane = 1u; lane < LANES; lane++) { first = min(first, best_index[lane]); }
  out[row] = i32(first);
}
