// out[n] = sum over rows of g[row, n]; one invocation a column.
// needs: lib/grid
struct Params { rows: u32, n: u32 }
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  var sum = 0.0;
  for (var row = 0u; row < params.rows; row++) { sum += g[row * params.n + i]; }
  out[i] = sum;
}
