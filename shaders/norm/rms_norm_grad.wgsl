// out = r * gw - x * r^3 * mean(gw * x), gw = g * weight, r = 1 / sqrt(mean(x^2) + eps); y + that
// where `onto` is 1. LANES invocations a row.
// needs: lib/rows
struct Params { rows: u32, n: u32, eps: f32, onto: u32 }
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read> y: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let row = row_of(wid, groups, local);
  let at = min(row, params.rows - 1u) * params.n;
  var squares = 0.0;
  var along = 0.0;
  for (var i = local.x; i < params.n; i += LANES) {
    squares += x[at + i] * x[at + i];
    along += g[at + i] * weight[i] * x[at + i];
  }
  let r = inverseSqrt(row_sum(squares, local) / f32(params.n) + params.eps);
  let back = row_sum(along, local) / f32(params.n) * r * r * r;
  if (row >= params.rows) { return; }
  for (var i = local.x; i < params.n; i += LANES) {
    var grad = r * g[at + i] * weight[i] - x[at + i] * back;
    if (params.onto == 1u) { grad += y[at + i]; }
    out[at + i] = grad;
  }
}
