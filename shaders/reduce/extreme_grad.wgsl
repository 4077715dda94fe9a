// out = g where x is its row's extreme y, shared equally among those that are; one invocation a row.
// needs: lib/fold
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> y: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let row = row_of(wid, groups, local);
  if (row >= params.n) { return; }
  let start = first(row);
  var count = 0.0;
  for (var j = 0u; j < params.terms; j++) { count += select(0.0, 1.0, x[start + term(j)] == y[row]); }
  for (var j = 0u; j < params.terms; j++) {
    let at = start + term(j);
    out[at] = select(0.0, g[row] / max(count, 1.0), x[at] == y[row]);
  }
}
