// A scale and a zero point for each row, from its least and largest number, 0 among them; LANES
// invocations a row, ROWS (a multiple of four) rows a workgroup: four zero points make a word.
// MODE 0 asymmetric, 1 symmetric, 2 symmetric with no clipping error. A row with a NaN gives NaN and 0.
// needs: lib/order_f32 lib/tops lib/divide lib/number
struct Params { rows: u32, k: u32, low: f32, high: f32, eps: f32, middle: i32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> scales: array<f32>;
@group(0) @binding(2) var<storage, read_write> zeros: array<u32>;
@group(1) @binding(0) var<uniform> params: Params;
var<workgroup> codes: array<u32, ROWS>;

// `low` has the sign turned: the largest of -x.
fn scale_of(low: f32, high: f32) -> f32 {
  var scale = divide(high + low, params.high - params.low);
  if (MODE == 1u) { scale = divide(max(low, high), (params.high - params.low) * 0.5); }
  if (MODE == 2u) { scale = max(divide(low, -params.low), divide(high, params.high)); }
  return max(scale, params.eps);
}

fn zero_of(low: f32, scale: f32) -> i32 {
  if (MODE > 0u) { return params.middle; }
  return i32(clamp(params.low + round(divide(low, scale)), params.low, params.high));
}

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let row = row_of(wid, groups, local);
  let at = min(row, params.rows - 1u) * params.k;
  var most = key(0u);
  var least = key(0u);
  for (var i = local.x; i < params.k; i += LANES) {
    let bits = bitcast<u32>(x[at + i]);
    most = max(most, key(bits));
    least = max(least, key(bits ^ 0x80000000u));
  }
  let high = bitcast<f32>(unkey(row_top(most, local)));
  let low = bitcast<f32>(unkey(row_top(least, local)));
  let bad = is_nan(high) || is_nan(low);
  let scale = scale_of(low, high);
  if (local.x == 0u) { codes[local.y] = select(u32(zero_of(low, scale)) & 255u, 0u, bad); }
  workgroupBarrier();
  if (local.x > 0u || row >= params.rows) { return; }
  scales[row] = select(scale, nan(), bad);
  if (row % 4u == 0u) {
    var word = 0u;
    for (var j = 0u; j < min(4u, params.rows - row); j++) { word |= codes[local.y + j] << (8u * j); }
    zeros[row / 4u] = word;
  }
}
