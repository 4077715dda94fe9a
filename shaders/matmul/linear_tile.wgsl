// out[m, n] = sum_k x[m, k] * weight(n, k) + bias[n]; one invocation ROWS x 4 outputs, vec4 along k.
// No workgroup memory. k % 4 == 0; ROWS is 1, 2, 4 or 8; rows and columns past the end repeat the last.
// needs: lib/grid
struct Params { w: vec4u, m: u32, n: u32, k: u32, bias: u32 }
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

fn store(row: u32, col: u32, value: vec4f) {
  if (row >= params.m) { return; }
  for (var c = 0u; c < min(4u, params.n - col); c++) {
    var sum = value[c];
    if (params.bias == 1u) { sum += bias[col + c]; }
    out[row * params.n + col + c] = sum;
  }
}

// Where row `row` of x starts, in vec4.
fn start(row: u32) -> u32 {
  return min(row, params.m - 1u) * (params.k / 4u);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let cols = (params.n + 3u) / 4u;
  let row = i / cols * ROWS;
  if (row >= params.m) { return; }
  let col = i % cols * 4u;
  let last = params.n - 1u;
  let x0 = start(row + 0u);
  var a0 = vec4f();
  let x1 = start(row + 1u);
  var a1 = vec4f();
  let x2 = start(row + 2u);
  var a2 = vec4f();
  let x3 = start(row + 3u);
  var a3 = vec4f();
  let x4 = start(row + 4u);
  var a4 = vec4f();
  let x5 = start(row + 5u);
  var a5 = vec4f();
  let x6 = start(row + 6u);
  var a6 = vec4f();
  let x7 = start(row + 7u);
  var a7 = vec4f();
  for (var k = 0u; k < params.k / 4u; k++) {
    let w0 = weight4(col, 4u * k);
    let w1 = weight4(min(col + 1u, last), 4u * k);
    let w2 = weight4(min(col + 2u, last), 4u * k);
    let w3 = weight4(min(col + 3u, last), 4u * k);
    let v0 = x[x0 + k];
    a0 += vec4f(dot(v0, w0), dot(v0, w1), dot(v0, w2), dot(v0, w3));
    if (ROWS > 1u) {
      let v1 = x[x1 + k];
      a1 += vec4f(dot(v1, w0), dot(v1, w1), dot(v1, w2), dot(v1, w3));
    }
    if (ROWS > 2u) {
      let v2 = x[x2 + k];
      a2 += vec4f(dot(v2, w0), dot(v2, w1), dot(v2, w2), dot(v2, w3));
      let v3 = x[x3 + k];
      a3 += vec4f(dot(v3, w0), dot(v3, w1), dot(v3, w2), dot(v3, w3));
    }
    if (ROWS > 4u) {
      let v4 = x[x4 + k];
      a4 += vec4f(dot(v4, w0), dot(v4, w1), dot(v4, w2), dot(v4, w3));
      let v5 = x[x5 + k];
      a5 += vec4f(dot(v5, w0), dot(v5, w1), dot(v5, w2), dot(v5, w3));
      let v6 = x[x6 + k];
      a6 += vec4f(dot(v6, w0), dot(v6, w1), dot(v6, w2), dot(v6, w3));
      let v7 = x[x7 + k];
      a7 += vec4f(dot(v7, w0), dot(v7, w1), dot(v7, w2), dot(v7, w3));
    }
  }
  store(row + 0u, col, a0);
  if (ROWS > 1u) { store(row + 1u, col, a1); }
  if (ROWS > 2u) {
    store(row + 2u, col, a2);
    store(row + 3u, col, a3);
  }
  if (ROWS > 4u) {
    store(row + 4u, col, a4);
    store(row + 5u, col, a5);
    store(row + 6u, col, a6);
    store(row + 7u, col, a7);
  }
}
