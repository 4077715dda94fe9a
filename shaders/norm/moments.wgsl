// A row is `terms` elements of x in a run: mean, rstd = 1 / sqrt(variance + eps), both stored, and
// out = (x - mean) * rstd * weight + bias. Element i of a row takes weight[row % groups * span + i /
// inner]. LANES invocations a row; the variance is of what the mean leaves: nothing cancels.
// needs: lib/rows
struct Params {
  rows: u32, terms: u32, eps: f32, affine: u32,
  groups: u32, span: u32, inner: u32, nan: u32,
}
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read_write> mean: array<f32>;
@group(0) @binding(5) var<storage, read_write> rstd: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let row = row_of(wid, groups, local);
  let at = min(row, params.rows - 1u) * params.terms;
  let count = f32(max(params.terms, 1u));
  var sum = 0.0;
  for (var i = local.x; i < params.terms; i += LANES) { sum += x[at + i]; }
  let near = row_sum(sum, local) / count;
  var squares = 0.0;
  var left = 0.0;
  for (var i = local.x; i < params.terms; i += LANES) {
    let away = x[at + i] - near;
    squares += away * away;
    left += away;
  }
  let off = row_sum(left, local) / count;  // what a long sum of large terms lost
  let middle = near + off;
  let scale = 1.0 / sqrt(row_sum(squares, local) / count - off * off + params.eps);
  if (row >= params.rows) { return; }
  for (var i = local.x; i < params.terms; i += LANES) {
    var value = (x[at + i] - middle) * scale;
    let channel = row % params.groups * params.span + i / params.inner;
    if ((params.affine & 1u) != 0u) { value *= weight[channel]; }
    if ((params.affine & 2u) != 0u) { value += bias[channel]; }
    out[at + i] = value;
  }
  if (local.x == 0u) {
    mean[row] = middle;
    rstd[row] = select(scale, bitcast<f32>(params.nan), params.terms == 0u);
  }
}
