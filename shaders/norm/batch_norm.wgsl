// out = (x - mean[c]) / sqrt(var[c] + eps) * weight[c] + bias[c], c the channel; one invocation an
// element. `given` says which of mean, weight and bias are there.
// needs: lib/grid
struct Params { n: u32, channels: u32, inner: u32, given: u32, eps: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read> mean: array<f32>;
@group(0) @binding(4) var<storage, read> variance: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let c = i / params.inner % params.channels;
  var value = x[i];
  if ((params.given & 1u) != 0u) { value -= mean[c]; }
  value *= 1.0 / sqrt(variance[c] + params.eps);
  if ((params.given & 2u) != 0u) { value *= weight[c]; }
  if ((params.given & 4u) != 0u) { value += bias[c]; }
  out[i] = value;
}
