// q and k, both turned by the rotary angles of their positions; one invocation a pair of elements,
// q's first.
// needs: lib/grid lib/step lib/rotate
struct Params {
  q_pairs: u32, k_pairs: u32, t: u32, h: u32, g: u32, e: u32, r: u32, halves: u32,
  inverse: u32, pos: u32, pos_slot: u32,
}
@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> k: array<f32>;
@group(0) @binding(2) var<storage, read> cos_table: array<f32>;
@group(0) @binding(3) var<storage, read> sin_table: array<f32>;
@group(0) @binding(4) var<storage, read_write> q_out: array<f32>;
@group(0) @binding(5) var<storage, read_write> k_out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  var i = flat(gid, groups);
  if (i >= params.q_pairs + params.k_pairs) { return; }
  let is_q = i < params.q_pairs;
  if (!is_q) { i -= params.q_pairs; }
  let head = i / (params.e / 2u);
  let j = i % (params.e / 2u);
  let at = head * params.e + pair_of(j);
  let time = head / select(params.g, params.h, is_q) % params.t;
  let row = time + moving(params.pos, params.pos_slot);
  if (is_q) {
    let made = turned(vec2f(q[at.x], q[at.y]), j, row);
    q_out[at.x] = made.x;
    q_out[at.y] = made.y;
  } else {
    let made = turned(vec2f(k[at.x], k[at.y]), j, row);
    k_out[at.x] = made.x;
    k_out[at.y] = made.y;
  }
}
