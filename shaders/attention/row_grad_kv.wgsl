// dk = scale * sum_i ds_i q_i, dv = sum_i p_i g_i over the queries and heads that see the key: one
// invocation a (batch, key, key head) row, in a fixed order, so no atomics. E4 vec4 a head.
// needs: lib/grid lib/step
struct Params {
  b: u32, t: u32, h: u32, s: u32, g: u32, scale: f32, pos: u32, pos_slot: u32, causal: u32,
}
@group(0) @binding(0) var<storage, read> g: array<vec4f>;
@group(0) @binding(1) var<storage, read> lse: array<f32>;
@group(0) @binding(2) var<storage, read> delta: array<f32>;
@group(0) @binding(3) var<storage, read> q: array<vec4f>;
@group(0) @binding(4) var<storage, read> k: array<vec4f>;
@group(0) @binding(5) var<storage, read> v: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> dk: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> dv: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.b * params.s * params.g) { return; }
  let group = params.h / params.g;
  let head = i % params.g;
  let j = i / params.g % params.s;
  let base = i / params.g / params.s * params.t;
  let pos = moving(params.pos, params.pos_slot);
  var key: array<vec4f, E4>;
  var value: array<vec4f, E4>;
  var acc_k: array<vec4f, E4>;
  var acc_v: array<vec4f, E4>;
  for (var e = 0u; e < E4; e++) {
    key[e] = k[i * E4 + e] * params.scale;
    value[e] = v[i * E4 + e];
  }
  var first = max(j, pos) - pos;
  if (params.causal == 0u && first < params.t) { first = 0u; }
  for (var time = first; time < params.t; time++) {
    for (var one = head * group; one < (head + 1u) * group; one++) {
      let row = (base + time) * params.h + one;
      var score = 0.0;
      var inner = 0.0;
      for (var e = 0u; e < E4; e++) {
        score += dot(q[row * E4 + e], key[e]);
        inner += dot(g[row * E4 + e], value[e]);
      }
      let weight = exp(score - lse[row]);
      let ds = weight * (inner - delta[row]);
      for (var e = 0u; e < E4; e++) {
        acc_k[e] += ds * q[row * E4 + e];
        acc_v[e] += weight * g[row * E4 + e];
      }
    }
  }
  for (var e = 0u; e < E4; e++) {
    dk[i * E4 + e] = acc_k[e] * params.scale;
    dv[i * E4 + e] = acc_v[e];
  }
}
