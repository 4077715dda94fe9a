// d_gate = g * up * (s + gate * s * (1 - s)), d_up = g * gate * s, s the sigmoid of gate; one
// invocation an element, both gradients.
// needs: lib/grid
struct Params { n: u32 }
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read> gate: array<f32>;
@group(0) @binding(2) var<storage, read> up: array<f32>;
@group(0) @binding(3) var<storage, read_write> d_gate: array<f32>;
@group(0) @binding(4) var<storage, read_write> d_up: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let x = gate[i];
  let s = 1.0 / (1.0 + exp(-x));
  d_gate[i] = g[i] * up[i] * (s + x * s * (1.0 - s));
  d_up[i] = g[i] * x * s;
}
