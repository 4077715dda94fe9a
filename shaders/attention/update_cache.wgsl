// cache[b, pos + t] = value[b, t]; one invocation an element; rows past the cache's end are dropped.
// needs: lib/grid lib/step
struct Params { n: u32, t: u32, s: u32, row: u32, pos: u32, pos_slot: u32 }
@group(0) @binding(0) var<storage, read> value: array<f32>;
@group(0) @binding(1) var<storage, read_write> cache: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let time = i / params.row % params.t + moving(params.pos, params.pos_slot);
  if (time >= params.s) { return; }
  cache[(i / params.row / params.t * params.s + time) * params.row + i % params.row] = value[i];
}
