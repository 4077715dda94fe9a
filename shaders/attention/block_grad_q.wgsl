// dq = scale * sum_j p_j (g . v_j - delta) k_j, p_j = exp(score_j - lse), delta = g . out: a workgroup
// 16 queries of a head, keys 16 at a time through workgroup memory; an invocation one score, then one
// vec4 of dq. E4 <= 16 vec4 a head.
// needs: lib/step
struct Params { b: u32, t: u32, h: u32, s: u32, g: u32, scale: f32, pos: u32, pos_slot: u32 }
@group(0) @binding(0) var<storage, read> g: array<vec4f>;
@group(0) @binding(1) var<storage, read> y: array<vec4f>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> q: array<vec4f>;
@group(0) @binding(4) var<storage, read> k: array<vec4f>;
@group(0) @binding(5) var<storage, read> v: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> dq: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
const PITCH = E4 + 1u; // one more: 16 keys at one place lie in different banks
var<workgroup> keys: array<vec4f, 16u * PITCH>;
var<workgroup> values: array<vec4f, 16u * PITCH>;
var<workgroup> slopes: array<f32, 256>;

@compute @workgroup_size(16, 16)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let blocks = (params.t + 15u) / 16u;
  let tile = wid.x + wid.y * groups.x;
  let batch = min(tile / blocks / params.h, params.b - 1u);
  let head = tile / blocks % params.h;
  let begin = tile % blocks * 16u;
  let time = begin + local.y;
  let row = (batch * params.t + min(time, params.t - 1u)) * params.h + head;
  let lead = moving(params.pos, params.pos_slot) + 1u;
  let end = min(params.s, lead + min(begin + 15u, params.t - 1u));
  let place = (batch * params.s * params.g + head / (params.h / params.g)) * E4;
  var along = 0.0;
  for (var e = 0u; e < E4; e++) { along += dot(g[row * E4 + e], y[row * E4 + e]); }
  var acc = vec4f();
  for (var first = 0u; first < end; first += 16u) {
    for (var i = lane; i < 16u * E4; i += 256u) {
      let at = place + min(first + i / E4, params.s - 1u) * params.g * E4 + i % E4;
      let there = first + i / E4 < end; // a cache may hold anything after its end
      keys[i / E4 * PITCH + i % E4] = select(vec4f(), k[at], there);
      values[i / E4 * PITCH + i % E4] = select(vec4f(), v[at], there);
    }
    workgroupBarrier();
    var score = 0.0;
    var inner = 0.0;
    for (var e = 0u; e < E4; e++) {
      score += dot(q[row * E4 + e], keys[local.x * PITCH + e]);
      inner += dot(g[row * E4 + e], values[local.x * PITCH + e]);
    }
    let seen = first + local.x < min(params.s, lead + time);
    let weight = exp(select(-3.4e38, score * params.scale - lse[row], seen));
    slopes[lane] = weight * (inner - along);
    workgroupBarrier();
    for (var j = 0u; j < 16u && local.x < E4; j++) {
      acc += slopes[local.y * 16u + j] * keys[j * PITCH + local.x];
    }
    workgroupBarrier();
  }
  if (tile / blocks / params.h >= params.b || time >= params.t) { return; }
  if (local.x < E4) { dq[row * E4 + local.x] = acc * params.scale; }
  if (local.x == 0u) { delta[row] = along; }
}
