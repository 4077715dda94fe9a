// loss[r] = (log sum exp(x[r] - max) - (x[r, label] - max)) / n; dlogits = (softmax - onehot) / n; masked: zeros.
// LANES invocations a row: an online (max, sum) each, combined, then one pass that writes.
// needs: lib/rows lib/step lib/number lib/root
struct Params { rows: u32, v: u32, n_bits: u32, n_slot: u32 }
@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> labels: array<i32>;
@group(0) @binding(2) var<storage, read_write> loss: array<f32>;
@group(0) @binding(3) var<storage, read_write> dlogits: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let wanted = row_of(wid, groups, local);
  let row = min(wanted, params.rows - 1u);
  let at = row * params.v;
  var peak = -3.4e38;
  var sum = 0.0;
  for (var i = local.x; i < params.v; i += LANES) {
    let x = logits[at + i];
    if (less(peak, x)) {
      sum = sum * exp(peak - x) + 1.0;
      peak = x;
    } else {
      sum += keep(x, exp(x - peak));
    }
  }
  let top = row_max(peak, local);
  let sum_all = row_sum(sum * exp(peak - top), local);
  let total = select(sum_all, nan(), same(top, infinity())); // inf - inf, as torch has it
  if (wanted >= params.rows) { return; }
  let label = labels[row];
  let ok = label >= 0 && label < i32(params.v);
  let scale = select(0.0, 1.0 / moving_f32(params.n_bits, params.n_slot), ok);
  for (var i = local.x; i < params.v; i += LANES) {
    let p = exp(logits[at + i] - top) / total;
    dlogits[at + i] = select(0.0, select(p, p - 1.0, i32(i) == label) * scale, ok);
  }
  if (local.x == 0u) {
    loss[row] = select(0.0, (logarithm(total) - (logits[at + u32(max(label, 0))] - top)) * scale, ok);
  }
}
