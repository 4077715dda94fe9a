// dq = scale * sum_j p_j (g . v_j - delta) k_j, p_j = exp(score_j - lse), delta = g . out: one
// invocation a (batch, query, head) row; the scores are worked out again. E4 vec4 a head.
// needs: lib/grid lib/step
struct Params {
  b: u32, t: u32, h: u32, s: u32, g: u32, scale: f32, pos: u32, pos_slot: u32, causal: u32,
}
@group(0) @binding(0) var<storage, read> g: array<vec4f>;
@group(0) @binding(1) var<storage, read> y: array<vec4f>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> q: array<vec4f>;
@group(0) @binding(4) var<storage, read> k: array<vec4f>;
@group(0) @binding(5) var<storage, read> v: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> dq: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.b * params.t * params.h) { return; }
  let head = i % params.h / (params.h / params.g);
  let time = i / params.h % params.t;
  let base = i / params.h / params.t * params.s;
  let last = select(params.t - 1u, time, params.causal == 1u);
  let seen = min(params.s, moving(params.pos, params.pos_slot) + last + 1u);
  var query: array<vec4f, E4>;
  var grad: array<vec4f, E4>;
  var acc: array<vec4f, E4>;
  var along = 0.0;
  for (var e = 0u; e < E4; e++) {
    query[e] = q[i * E4 + e] * params.scale;
    grad[e] = g[i * E4 + e];
    along += dot(grad[e], y[i * E4 + e]);
  }
  for (var j = 0u; j < seen; j++) {
    let at = ((base + j) * params.g + head) * E4;
    var score = 0.0;
    var inner = 0.0;
    for (var e = 0u; e < E4; e++) {
      score += dot(query[e], k[at + e]);
      inner += dot(grad[e], v[at + e]);
    }
    let ds = exp(score - lse[i]) * (inner - along);
    for (var e = 0u; e < E4; e++) { acc[e] += ds * k[at + e]; }
  }
  for (var e = 0u; e < E4; e++) { dq[i * E4 + e] = acc[e] * params.scale; }
  delta[i] = along;
}
