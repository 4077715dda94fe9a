// out = exp(x - peak) / sum of it along a row; LOG: x - peak - log(sum). LANES invocations a row. A
// row whose peak is infinite or NaN is all NaN, as in torch: its bits come from params.
// needs: lib/fold lib/tops lib/order_f32
override LOG: u32 = 0u;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let row = row_of(wid, groups, local);
  let start = first(min(row, params.n - 1u));
  var top = 0u;
  for (var j = local.x; j < params.terms; j += LANES) {
    top = max(top, key(bitcast<u32>(x[start + term(j)])));
  }
  let bits = unkey(row_top(top, local));
  let peak = bitcast<f32>(bits);
  var sum = 0.0;
  for (var j = local.x; j < params.terms; j += LANES) { sum += exp(x[start + term(j)] - peak); }
  let total = row_sum(sum, local);
  if (row >= params.n) { return; }
  let lost = (bits & 0x7f800000u) == 0x7f800000u;
  let less = log(total);
  for (var j = local.x; j < params.terms; j += LANES) {
    let at = start + term(j);
    var value = x[at] - peak;
    if (LOG == 1u) { value -= less; } else { value = exp(value) / total; }
    if (lost) { value = bitcast<f32>(params.nan); }
    out[at] = value;
  }
}
