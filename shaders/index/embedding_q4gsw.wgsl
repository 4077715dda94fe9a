// out[i, d] = (code - 8) * scale of row indices[i]; even d in the low nibble when linear, else in the
// high one; zeros for an index outside; one invocation an element.
// needs: lib/grid
struct Params { n: u32, k: u32, v: u32, group: u32, s: u32, linear: u32 }
@group(0) @binding(0) var<storage, read> weight: array<u32>;
@group(0) @binding(1) var<storage, read> scales: array<f32>;
@group(0) @binding(2) var<storage, read> indices: array<i32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let row = indices[i / params.k];
  if (row < 0 || row >= i32(params.v)) {
    out[i] = 0.0;
    return;
  }
  let d = i % params.k;
  let byte = u32(row) * (params.k / 2u) + d / 2u;
  let nibble = (d + params.linear + 1u) % 2u;
  let code = (weight[byte / 4u] >> (byte % 4u * 8u + nibble * 4u)) & 15u;
  out[i] = (f32(code) - 8.0) * scales[u32(row) * params.s + d / params.group];
}
