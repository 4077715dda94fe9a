// AdamW with decoupled decay, in place: p -= lr wd p; m, v move; p -= lr m^ / (sqrt(v^) + eps).
// One invocation a parameter.
// needs: lib/grid lib/step
struct Params {
  n: u32, lr: u32, lr_slot: u32, bias1: u32, bias1_slot: u32, bias2: u32, bias2_slot: u32,
  beta1: f32, rest1: f32, beta2: f32, rest2: f32, eps: f32, decay: f32,
}
@group(0) @binding(0) var<storage, read_write> param: array<f32>;
@group(0) @binding(1) var<storage, read_write> m: array<f32>;
@group(0) @binding(2) var<storage, read_write> v: array<f32>;
@group(0) @binding(3) var<storage, read> grad: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let lr = moving_f32(params.lr, params.lr_slot);
  let g = grad[i];
  let p = param[i] - lr * params.decay * param[i];
  m[i] = params.beta1 * m[i] + params.rest1 * g;
  v[i] = params.beta2 * v[i] + params.rest2 * g * g;
  let m_hat = m[i] / moving_f32(params.bias1, params.bias1_slot);
  let v_hat = v[i] / moving_f32(params.bias2, params.bias2_slot);
  param[i] = p - lr * m_hat / (sqrt(v_hat) + params.eps);
}
