// q turned in place; k turned and v as it is into rows pos + t of the caches, rows past their end
// dropped; one invocation a pair of elements: q's, then k's, then v's.
// needs: lib/grid lib/step lib/rotate
struct Params {
  q_pairs: u32, k_pairs: u32, t: u32, h: u32, g: u32, e: u32, r: u32, halves: u32,
  inverse: u32, pos: u32, pos_slot: u32, s: u32,
}
@group(0) @binding(0) var<storage, read_write> q: array<f32>;
@group(0) @binding(1) var<storage, read> k: array<f32>;
@group(0) @binding(2) var<storage, read> v: array<f32>;
@group(0) @binding(3) var<storage, read_write> keys: array<f32>;
@group(0) @binding(4) var<storage, read_write> values: array<f32>;
@group(0) @binding(5) var<storage, read> cos_table: array<f32>;
@group(0) @binding(6) var<storage, read> sin_table: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let n = flat(gid, groups);
  if (n >= params.q_pairs + 2u * params.k_pairs) { return; }
  let is_q = n < params.q_pairs;
  let i = select((n - params.q_pairs) % max(params.k_pairs, 1u), n, is_q);
  let head = i / (params.e / 2u);
  let j = i % (params.e / 2u);
  let two = pair_of(j);
  let at = head * params.e + two;
  let heads = select(params.g, params.h, is_q);
  let time = head / heads % params.t;
  let row = time + moving(params.pos, params.pos_slot);
  if (is_q) {
    let made = turned(vec2f(q[at.x], q[at.y]), j, row);
    q[at.x] = made.x;
    q[at.y] = made.y;
    return;
  }
  if (row >= params.s) { return; }
  let batch = head / heads / params.t;
  let into = ((batch * params.s + row) * params.g + head % params.g) * params.e + two;
  if (n < params.q_pairs + params.k_pairs) {
    let made = turned(vec2f(k[at.x], k[at.y]), j, row);
    keys[into.x] = made.x;
    keys[into.y] = made.y;
  } else {
    values[into.x] = v[at.x];
    values[into.y] = v[at.y];
  }
}
