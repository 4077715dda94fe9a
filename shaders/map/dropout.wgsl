// out = x * keep / (1 - p), keep a counter-based coin an element; one invocation an element.
// needs: lib/grid lib/step lib/random
struct Params { n: u32, seed: u32, seed_slot: u32, stream: u32, p: f32, scale: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let coin = uniform01(i, moving(params.seed, params.seed_slot), params.stream);
  out[i] = select(0.0, x[i] * params.scale, coin >= params.p);
}
