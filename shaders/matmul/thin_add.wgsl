// out[m, n] = y[m, n] + alpha * sum_k x[m, k] * w[n * step_n + k * step_k], k small; one invocation
// 4 x 4 outputs, each value of x and w used four times. Any sizes: past the end the last repeats.
// needs: lib/grid
struct Params { m: u32, n: u32, k: u32, alpha: f32, step_n: u32, step_k: u32 }
@group(0) @binding(0) var<storage, read> y: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> w: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

fn store(row: u32, col: u32, sums: vec4f) {
  if (row >= params.m) { return; }
  for (var c = 0u; c < min(4u, params.n - col); c++) {
    let at = row * params.n + col + c;
    out[at] = y[at] + params.alpha * sums[c];
  }
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let cols = (params.n + 3u) / 4u;
  let row = i / cols * 4u;
  if (row >= params.m) { return; }
  let col = i % cols * 4u;
  let rows = min(vec4u(row) + vec4u(0u, 1u, 2u, 3u), vec4u(params.m - 1u)) * params.k;
  let places = min(vec4u(col) + vec4u(0u, 1u, 2u, 3u), vec4u(params.n - 1u)) * params.step_n;
  var a0 = vec4f();
  var a1 = vec4f();
  var a2 = vec4f();
  var a3 = vec4f();
  for (var k = 0u; k < params.k; k++) {
    let at = places + k * params.step_k;
    let v = vec4f(w[at.x], w[at.y], w[at.z], w[at.w]);
    a0 += x[rows.x + k] * v;
    a1 += x[rows.y + k] * v;
    a2 += x[rows.z + k] * v;
    a3 += x[rows.w + k] * v;
  }
  store(row, col, a0);
  store(row + 1u, col, a1);
  store(row + 2u, col, a2);
  store(row + 3u, col, a3);
}
