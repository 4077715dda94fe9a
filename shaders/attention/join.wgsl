// Parts of an attention put together, each weighed by exp of its lse: out = sum_p w_p out_p / sum_p w_p,
// lse = log sum_p exp lse_p; one invocation a vec4 of out.
// needs: lib/grid
struct Params { n: u32, parts: u32, e4: u32 }
@group(0) @binding(0) var<storage, read> outs: array<vec4f>;
@group(0) @binding(1) var<storage, read> lses: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> lse: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let rows = params.n / params.e4;
  let row = i / params.e4;
  var peak = -3.4e38;
  for (var p = 0u; p < params.parts; p++) { peak = max(peak, lses[p * rows + row]); }
  var total = 0.0;
  var acc = vec4f();
  for (var p = 0u; p < params.parts; p++) {
    let weight = exp(lses[p * rows + row] - peak);
    total += weight;
    acc += weight * outs[p * params.n + i];
  }
  out[i] = acc / total;
  if (i % params.e4 == 0u) { lse[row] = peak + log(total); }
}
