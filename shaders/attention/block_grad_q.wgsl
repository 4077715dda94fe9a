// dq = scale * sum_j p_j (g . v_j - delta) k_j, p_j = exp(score_j - lse), delta = g . out: a workgroup
// 16 queries of a head, keys 16 at a time through workgroup memory; an invocation one score, then one
// vec4 of dq. E4 <= 16 vec4 a head.
// needs: lib/query_block
@group(0) @binding(0) var<storage, read> g: array<vec4f>;
@group(0) @binding(1) var<storage, read> y: array<vec4f>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> q: array<vec4f>;
@group(0) @binding(4) var<storage, read> k: array<vec4f>;
@group(0) @binding(5) var<storage, read> v: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> dq: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;
var<workgroup> slopes: array<f32, 256>;

@compute @workgroup_size(16, 16)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let block = queries_of(wid, groups);
  let row = query_row(block, local.y);
  var along = 0.0;
  for (var e = 0u; e < E4; e++) { along += dot(g[row * E4 + e], y[row * E4 + e]); }
  var acc = vec4f();
  for (var first = 0u; first < block.end; first += 16u) {
    stage(first, block, lane);
    workgroupBarrier();
    var score = 0.0;
    var inner = 0.0;
    for (var e = 0u; e < E4; e++) {
      score += dot(q[row * E4 + e], keys[local.x * PITCH + e]);
      inner += dot(g[row * E4 + e], values[local.x * PITCH + e]);
    }
    let seen = sees(block, local.y, first + local.x);
    let weight = exp(select(-3.4e38, score * params.scale - lse[row], seen));
    slopes[lane] = weight * (inner - along);
    workgroupBarrier();
    for (var j = 0u; j < 16u && local.x < E4; j++) {
      acc += slopes[local.y * 16u + j] * keys[j * PITCH + local.x];
    }
    workgroupBarrier();
  }
  if (!is_query(block, local.y)) { return; }
  if (local.x < E4) { dq[row * E4 + local.x] = acc * params.scale; }
  if (local.x == 0u) { delta[row] = along; }
}
