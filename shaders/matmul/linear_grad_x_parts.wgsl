// out[part, m, k] = sum_n g[m, n] * weight(n, k) over the part's n; one invocation an output.
// needs: lib/grid
struct Params { w: vec4u, m: u32, n: u32, k: u32, per: u32 }
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let part = i / params.k / params.m;
  if (part * params.per >= params.n) { return; }
  let m = i / params.k % params.m;
  var sum = 0.0;
  for (var n = part * params.per; n < (part + 1u) * params.per; n++) {
    sum += g[m * params.n + n] * weight(n, i % params.k);
  }
  out[i] = sum;
}
