// out = logits, those of tokens in `seen` moved away from being chosen again; one invocation a logit.
// needs: lib/grid lib/divide
struct Params { v: u32, s: u32, penalty: f32 }
@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> seen: array<i32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.v) { return; }
  var hit = false;
  for (var j = 0u; j < params.s; j++) { hit = hit || seen[j] == i32(i); }
  let x = logits[i];
  out[i] = select(x, select(x * params.penalty, over(x, params.penalty), x > 0.0), hit);
}
