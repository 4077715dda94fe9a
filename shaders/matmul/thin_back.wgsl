// out[m, k] = alpha * sum_n g[m, n] * w[n, k], k small: LANES invocations share 4 x 4 outputs, each
// its own run of n, then a tree. LANES = 1 needs no barrier. Any sizes: past the end the last repeats.
struct Params { m: u32, n: u32, k: u32, alpha: f32 }
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
override ROWS: u32 = 16u;
override LANES: u32 = 1u;
var<workgroup> sums: array<mat4x4f, ROWS * LANES>;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let i = (wid.x + wid.y * groups.x) * ROWS + local.y;
  let cols = (params.k + 3u) / 4u;
  let row = i / cols * 4u;
  let col = i % cols * 4u;
  let last = max(params.m, 1u) - 1u;
  let rows = min(vec4u(row) + vec4u(0u, 1u, 2u, 3u), vec4u(last)) * params.n;
  let places = min(vec4u(col) + vec4u(0u, 1u, 2u, 3u), vec4u(params.k - 1u));
  var sum = mat4x4f();
  for (var n = local.x; n < params.n; n += LANES) {
    let at = places + n * params.k;
    let v = vec4f(w[at.x], w[at.y], w[at.z], w[at.w]);
    sum += mat4x4f(g[rows.x + n] * v, g[rows.y + n] * v, g[rows.z + n] * v, g[rows.w + n] * v);
  }
  if (LANES > 1u) {
    let at = local.y * LANES + local.x;
    sums[at] = sum;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
      if (local.x < half) { sums[at] += sums[at + half]; }
      workgroupBarrier();
    }
    sum = sums[local.y * LANES];
  }
  if (local.x > 0u) { return; }
  for (var r = 0u; r < 4u && row + r < params.m; r++) {
    for (var c = 0u; c < 4u && col + c < params.k; c++) {
      out[(row + r) * params.k + col + c] = params.alpha * sum[r][c];
    }
  }
}
