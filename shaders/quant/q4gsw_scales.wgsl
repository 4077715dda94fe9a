// scales[group, n] = max |w[n, group]| / 7.5, no smaller than the least normal f32; zeros in the
// padding; one invocation a scale.
// needs: lib/grid lib/divide
struct Params { n: u32, k: u32, group: u32, c: u32, groups: u32 }
@group(0) @binding(0) var<storage, read> w: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.groups * params.c) { return; }
  let row = i % params.c;
  if (row >= params.n) {
    out[i] = 0.0;
    return;
  }
  let at = row * params.k + i / params.c * params.group;
  var peak = 0.0;
  for (var k = 0u; k < params.group; k++) { peak = max(peak, abs(w[at + k])); }
  out[i] = max(divide(peak, 7.5), 1.1754943508222875e-38);
}
