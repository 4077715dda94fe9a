// One part's attention of few queries: out = softmax(scale * q k^T) v over keys part * PER .. and
// their lse; a workgroup a (part, batch, query, head) row. A lane scores every LANES-th key, then
// LANES / E4 groups of lanes add up the values, a vec4 a lane. A part that no query sees gives zeros
// and an lse of -3.4e38. E4 <= LANES vec4 a head; PER scores in workgroup memory.
// needs: lib/rows lib/step
struct Params {
  b: u32, t: u32, h: u32, s: u32, g: u32, scale: f32, pos: u32, pos_slot: u32, causal: u32, parts: u32,
}
@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> lse: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
override PER: u32 = 64u;
var<workgroup> weights: array<f32, PER>;
var<workgroup> sums: array<vec4f, LANES>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let wanted = wid.x + wid.y * groups.x;
  let rows = params.b * params.t * params.h;
  let place = min(wanted, max(rows * params.parts, 1u) - 1u);
  let row = place % max(rows, 1u);
  let head = row % params.h / (params.h / params.g);
  let last = select(params.t - 1u, row / params.h % params.t, params.causal == 1u);
  let first = place / max(rows, 1u) * PER;
  let seen = min(params.s, moving(params.pos, params.pos_slot) + last + 1u);
  let count = min(max(seen, first) - first, PER);
  let base = (row / params.h / params.t * params.s + first) * params.g + head;
  var top = -3.4e38;
  for (var j = local.x; j < count; j += LANES) {
    let at = (base + j * params.g) * E4;
    var score = 0.0;
    for (var e = 0u; e < E4; e++) { score += dot(q[row * E4 + e], k[at + e]); }
    weights[j] = score * params.scale;
    top = max(top, weights[j]);
  }
  let peak = row_max(top, local);
  var some = 0.0;
  for (var j = local.x; j < count; j += LANES) {
    weights[j] = exp(weights[j] - peak);
    some += weights[j];
  }
  let total = row_sum(some, local); // its barriers show every lane all weights
  let side = LANES / E4;
  var acc = vec4f();
  if (local.x < side * E4) {
    for (var j = local.x / E4; j < count; j += side) {
      acc += weights[j] * v[(base + j * params.g) * E4 + local.x % E4];
    }
  }
  sums[local.x] = acc;
  workgroupBarrier();
  if (wanted != place || local.x >= E4) { return; }
  for (var i = 1u; i < side; i++) { acc += sums[local.x + i * E4]; }
  out[place * E4 + local.x] = select(acc / total, vec4f(), count == 0u);
  if (local.x == 0u) { lse[place] = select(peak + log(total), -3.4e38, count == 0u); }
}
