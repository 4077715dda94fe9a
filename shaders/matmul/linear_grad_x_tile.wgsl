// out[m, k] = sum_n g[m, n] * weight(n, k); one invocation ROWS x 4 outputs, four weight rows a step.
// No workgroup memory. n % 4 == 0, k % 4 == 0; ROWS is 1, 2, 4 or 8; rows past the end repeat the last.
// needs: lib/grid
struct Params { w: vec4u, m: u32, n: u32, k: u32, pad: u32 }
@group(0) @binding(0) var<storage, read> g: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

fn store(row: u32, k: u32, value: vec4f) {
  if (row < params.m) { out[row * (params.k / 4u) + k] = value; }
}

// Where row `row` of g starts, in vec4.
fn start(row: u32) -> u32 {
  return min(row, params.m - 1u) * (params.n / 4u);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let k4 = params.k / 4u;
  let row = i / k4 * ROWS;
  if (row >= params.m) { return; }
  let k = i % k4;
  let g0 = start(row + 0u);
  var a0 = vec4f();
  let g1 = start(row + 1u);
  var a1 = vec4f();
  let g2 = start(row + 2u);
  var a2 = vec4f();
  let g3 = start(row + 3u);
  var a3 = vec4f();
  let g4 = start(row + 4u);
  var a4 = vec4f();
  let g5 = start(row + 5u);
  var a5 = vec4f();
  let g6 = start(row + 6u);
  var a6 = vec4f();
  let g7 = start(row + 7u);
  var a7 = vec4f();
  for (var n = 0u; n < params.n / 4u; n++) {
    let w0 = weight4(4u * n, 4u * k);
    let w1 = weight4(4u * n + 1u, 4u * k);
    let w2 = weight4(4u * n + 2u, 4u * k);
    let w3 = weight4(4u * n + 3u, 4u * k);
    let v0 = g[g0 + n];
    a0 += v0.x * w0 + v0.y * w1 + v0.z * w2 + v0.w * w3;
    if (ROWS > 1u) {
      let v1 = g[g1 + n];
      a1 += v1.x * w0 + v1.y * w1 + v1.z * w2 + v1.w * w3;
    }
    if (ROWS > 2u) {
      let v2 = g[g2 + n];
      a2 += v2.x * w0 + v2.y * w1 + v2.z * w2 + v2.w * w3;
      let v3 = g[g3 + n];
      a3 += v3.x * w0 + v3.y * w1 + v3.z * w2 + v3.w * w3;
    }
    if (ROWS > 4u) {
      let v4 = g[g4 + n];
      a4 += v4.x * w0 + v4.y * w1 + v4.z * w2 + v4.w * w3;
      let v5 = g[g5 + n];
      a5 += v5.x * w0 + v5.y * w1 + v5.z * w2 + v5.w * w3;
      let v6 = g[g6 + n];
      a6 += v6.x * w0 + v6.y * w1 + v6.z * w2 + v6.w * w3;
      let v7 = g[g7 + n];
      a7 += v7.x * w0 + v7.y * w1 + v7.z * w2 + v7.w * w3;
    }
  }
  store(row + 0u, k, a0);
  if (ROWS > 1u) { store(row + 1u, k, a1); }
  if (ROWS > 2u) {
    store(row + 2u, k, a2);
    store(row + 3u, k, a3);
  }
  if (ROWS > 4u) {
    store(row + 4u, k, a4);
    store(row + 5u, k, a5);
    store(row + 6u, k, a6);
    store(row + 7u, k, a7);
  }
}
