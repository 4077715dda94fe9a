// out = softmax(scale * q k^T, causal) v and lse = log sum exp, by online softmax: a workgroup 16
// queries of a head, keys 16 at a time through workgroup memory; an invocation one score, then one
// vec4 of out. E4 <= 16 vec4 a head.
// needs: lib/query_block
@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> lse: array<f32>;
var<workgroup> scores: array<f32, 256>;
var<workgroup> weights: array<f32, 256>;

@compute @workgroup_size(16, 16)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let block = queries_of(wid, groups);
  let row = query_row(block, local.y);
  var acc = vec4f();
  var peak = -3.4e38;
  var sum = 0.0;
  for (var first = 0u; first < block.end; first += 16u) {
    stage(first, block, lane);
    workgroupBarrier();
    var score = 0.0;
    for (var e = 0u; e < E4; e++) { score += dot(q[row * E4 + e], keys[local.x * PITCH + e]); }
    scores[lane] = select(-3.4e38, score * params.scale, sees(block, local.y, first + local.x));
    workgroupBarrier();
    var top = peak;
    for (var j = 0u; j < 16u; j++) { top = max(top, scores[local.y * 16u + j]); }
    weights[lane] = exp(scores[lane] - top);
    let keep = exp(peak - top);
    peak = top;
    workgroupBarrier();
    acc *= keep;
    sum *= keep;
    for (var j = 0u; j < 16u; j++) {
      let weight = weights[local.y * 16u + j];
      sum += weight;
      if (local.x < E4) { acc += weight * values[j * PITCH + local.x]; }
    }
    workgroupBarrier();
  }
  if (!is_query(block, local.y)) { return; }
  if (local.x < E4) { out[row * E4 + local.x] = acc / sum; }
  if (local.x == 0u) { lse[row] = peak + log(sum); }
}
