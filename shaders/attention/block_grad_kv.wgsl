// dk = scale * sum_i ds_i q_i, dv = sum_i p_i g_i over the queries and heads that see the key: a
// workgroup 16 keys of a key head, queries 16 at a time through workgroup memory, in a fixed order;
// an invocation one score, then one vec4 of dk and dv. E4 <= 16 vec4 a head.
// needs: lib/step
struct Params { b: u32, t: u32, h: u32, s: u32, g: u32, scale: f32, pos: u32, pos_slot: u32 }
@group(0) @binding(0) var<storage, read> g: array<vec4f>;
@group(0) @binding(1) var<storage, read> lse: array<f32>;
@group(0) @binding(2) var<storage, read> delta: array<f32>;
@group(0) @binding(3) var<storage, read> q: array<vec4f>;
@group(0) @binding(4) var<storage, read> k: array<vec4f>;
@group(0) @binding(5) var<storage, read> v: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> dk: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> dv: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;
const PITCH = E4 + 1u; // one more: 16 queries at one place lie in different banks
var<workgroup> queries: array<vec4f, 16u * PITCH>;
var<workgroup> grads: array<vec4f, 16u * PITCH>;
var<workgroup> weights: array<f32, 256>; // [key][query]
var<workgroup> slopes: array<f32, 256>;

@compute @workgroup_size(16, 16)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let blocks = (params.s + 15u) / 16u;
  let tile = wid.x + wid.y * groups.x;
  let batch = min(tile / blocks / params.g, params.b - 1u);
  let head = tile / blocks % params.g;
  let begin = tile % blocks * 16u;
  let key = begin + local.y;
  let group = params.h / params.g;
  let pos = moving(params.pos, params.pos_slot);
  let place = ((batch * params.s + min(key, params.s - 1u)) * params.g + head) * E4;
  var acc_k = vec4f();
  var acc_v = vec4f();
  for (var one = head * group; one < (head + 1u) * group; one++) {
    for (var first = max(begin, pos) - pos; first < params.t; first += 16u) {
      for (var i = lane; i < 16u * E4; i += 256u) {
        let time = min(first + i / E4, params.t - 1u);
        let at = ((batch * params.t + time) * params.h + one) * E4 + i % E4;
        queries[i / E4 * PITCH + i % E4] = q[at];
        grads[i / E4 * PITCH + i % E4] = g[at];
      }
      workgroupBarrier();
      var score = 0.0;
      var inner = 0.0;
      for (var e = 0u; e < E4; e++) {
        score += dot(k[place + e], queries[local.x * PITCH + e]);
        inner += dot(v[place + e], grads[local.x * PITCH + e]);
      }
      let time = first + local.x;
      let row = (batch * params.t + min(time, params.t - 1u)) * params.h + one;
      let seen = time < params.t && key <= pos + time;
      let weight = exp(select(-3.4e38, score * params.scale - lse[row], seen));
      weights[lane] = weight;
      slopes[lane] = weight * (inner - delta[row]);
      workgroupBarrier();
      for (var j = 0u; j < 16u && local.x < E4; j++) {
        acc_k += slopes[local.y * 16u + j] * queries[j * PITCH + local.x];
        acc_v += weights[local.y * 16u + j] * grads[j * PITCH + local.x];
      }
      workgroupBarrier();
    }
  }
  if (tile / blocks / params.g >= params.b || key >= params.s || local.x >= E4) { return; }
  dk[place + local.x] = acc_k * params.scale;
  dv[place + local.x] = acc_v;
}
