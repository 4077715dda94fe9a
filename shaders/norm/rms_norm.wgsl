// out = x / sqrt(mean(x^2) + eps) * weight over the last dim; LANES invocations a row.
// needs: lib/rows
struct Params { rows: u32, n: u32, eps: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let row = row_of(wid, groups, local);
  let at = min(row, params.rows - 1u) * params.n;
  var squares = 0.0;
  for (var i = local.x; i < params.n; i += LANES) { squares += x[at + i] * x[at + i]; }
  let r = inverseSqrt(row_sum(squares, local) / f32(params.n) + params.eps);
  if (row >= params.rows) { return; }
  for (var i = local.x; i < params.n; i += LANES) { out[at + i] = x[at + i] * r * weight[i]; }
}
