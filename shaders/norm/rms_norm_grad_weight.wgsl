// out[n] = sum over rows of g * x / sqrt(mean(x^2) + eps); one invocation a column, which works
// each row's norm out again: rare (norms are frozen under LoRA), so simple.
// needs: lib/grid
struct Params { rows: u32, n: u32, eps: f32 }
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  var sum = 0.0;
  for (var row = 0u; row < params.rows; row++) {
    let at = row * params.n;
    var squares = 0.0;
    for (var j = 0u; j < params.n; j++) { squares += x[at + j] * x[at + j]; }
    sum += g[at + i] * x[at + i] * inverseSqrt(squares / f32(params.n) + params.eps);
  }
  out[i] = sum;
}
