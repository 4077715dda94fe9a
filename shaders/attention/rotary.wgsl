// (out[2i], out[2i+1]) = (a cos - b sin, a sin + b cos) of adjacent elements; one invocation a pair.
// The tables are r wide; pairs past them stay.
// needs: lib/grid lib/step
struct Params { pairs: u32, t: u32, h: u32, e: u32, pos: u32, pos_slot: u32, inverse: u32, r: u32 }
@group(0) @binding(0) var<storage, read> x: array<vec2f>;
@group(0) @binding(1) var<storage, read> cos_table: array<f32>;
@group(0) @binding(2) var<storage, read> sin_table: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<vec2f>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.pairs) { return; }
  let half = params.e / 2u;
  let pair = x[i];
  if (i % half >= params.r) {
    out[i] = pair;
    return;
  }
  let row = i / half / params.h % params.t + moving(params.pos, params.pos_slot);
  let at = row * params.r + i % half;
  let c = cos_table[at];
  let s = select(sin_table[at], -sin_table[at], params.inverse == 1u);
  out[i] = vec2f(pair.x * c - pair.y * s, pair.x * s + pair.y * c);
}
