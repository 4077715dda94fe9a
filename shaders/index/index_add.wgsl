// out[row, k] = sum of g[i, k] over the i with indices[i] == row, in order of i; one invocation an
// element that reads every index, so no atomics and always the same sum.
// needs: lib/grid
struct Params { n: u32, k: u32, count: u32 }
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read> indices: array<i32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let at = flat(gid, groups);
  if (at >= params.n * params.k) { return; }
  let row = i32(at / params.k);
  var sum = 0.0;
  for (var i = 0u; i < params.count; i++) {
    if (indices[i] == row) { sum += g[i * params.k + at % params.k]; }
  }
  out[at] = sum;
}
