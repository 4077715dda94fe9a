// out[m, n] = sum_k x[m, k] * weight(n, k) + bias[n]; one invocation 8 x 8 outputs, eight k a step. No
// workgroup memory: each value loaded is used eight times, which is what a software adapter pays for.
// k % 8 == 0; rows and columns past the end repeat the last.
// needs: lib/grid
struct Params { w: vec4u, m: u32, n: u32, k: u32, bias: u32 }
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

fn store(row: u32, col: u32, value: vec4f) {
  if (row >= params.m || col >= params.n) { return; }
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

fn column(col: u32) -> u32 {
  return min(col, params.n - 1u);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let cols = (params.n + 7u) / 8u;
  let row = i / cols * 8u;
  if (row >= params.m) { return; }
  let col = i % cols * 8u;
  let x0 = start(row + 0u);
  let x1 = start(row + 1u);
  let x2 = start(row + 2u);
  let x3 = start(row + 3u);
  let x4 = start(row + 4u);
  let x5 = start(row + 5u);
  let x6 = start(row + 6u);
  let x7 = start(row + 7u);
  var a0 = vec4f();
  var b0 = vec4f();
  var a1 = vec4f();
  var b1 = vec4f();
  var a2 = vec4f();
  var b2 = vec4f();
  var a3 = vec4f();
  var b3 = vec4f();
  var a4 = vec4f();
  var b4 = vec4f();
  var a5 = vec4f();
  var b5 = vec4f();
  var a6 = vec4f();
  var b6 = vec4f();
  var a7 = vec4f();
  var b7 = vec4f();
  for (var p = 0u; p < params.k / 8u; p++) {
    let k = pair_at(p);
    let at = k / 4u;
    let next = at + GAP / 4u;
    let w0 = weight8(column(col + 0u), k);
    let w1 = weight8(column(col + 1u), k);
    let w2 = weight8(column(col + 2u), k);
    let w3 = weight8(column(col + 3u), k);
    let w4 = weight8(column(col + 4u), k);
    let w5 = weight8(column(col + 5u), k);
    let w6 = weight8(column(col + 6u), k);
    let w7 = weight8(column(col + 7u), k);
    let u0 = x[x0 + at];
    let v0 = x[x0 + next];
    a0 += vec4f(dot(u0, w0[0]) + dot(v0, w0[1]), dot(u0, w1[0]) + dot(v0, w1[1]),
      dot(u0, w2[0]) + dot(v0, w2[1]), dot(u0, w3[0]) + dot(v0, w3[1]));
    b0 += vec4f(dot(u0, w4[0]) + dot(v0, w4[1]), dot(u0, w5[0]) + dot(v0, w5[1]),
      dot(u0, w6[0]) + dot(v0, w6[1]), dot(u0, w7[0]) + dot(v0, w7[1]));
    let u1 = x[x1 + at];
    let v1 = x[x1 + next];
    a1 += vec4f(dot(u1, w0[0]) + dot(v1, w0[1]), dot(u1, w1[0]) + dot(v1, w1[1]),
      dot(u1, w2[0]) + dot(v1, w2[1]), dot(u1, w3[0]) + dot(v1, w3[1]));
    b1 += vec4f(dot(u1, w4[0]) + dot(v1, w4[1]), dot(u1, w5[0]) + dot(v1, w5[1]),
      dot(u1, w6[0]) + dot(v1, w6[1]), dot(u1, w7[0]) + dot(v1, w7[1]));
    let u2 = x[x2 + at];
    let v2 = x[x2 + next];
    a2 += vec4f(dot(u2, w0[0]) + dot(v2, w0[1]), dot(u2, w1[0]) + dot(v2, w1[1]),
      dot(u2, w2[0]) + dot(v2, w2[1]), dot(u2, w3[0]) + dot(v2, w3[1]));
    b2 += vec4f(dot(u2, w4[0]) + dot(v2, w4[1]), dot(u2, w5[0]) + dot(v2, w5[1]),
      dot(u2, w6[0]) + dot(v2, w6[1]), dot(u2, w7[0]) + dot(v2, w7[1]));
    let u3 = x[x3 + at];
    let v3 = x[x3 + next];
    a3 += vec4f(dot(u3, w0[0]) + dot(v3, w0[1]), dot(u3, w1[0]) + dot(v3, w1[1]),
      dot(u3, w2[0]) + dot(v3, w2[1]), dot(u3, w3[0]) + dot(v3, w3[1]));
    b3 += vec4f(dot(u3, w4[0]) + dot(v3, w4[1]), dot(u3, w5[0]) + dot(v3, w5[1]),
      dot(u3, w6[0]) + dot(v3, w6[1]), dot(u3, w7[0]) + dot(v3, w7[1]));
    let u4 = x[x4 + at];
    let v4 = x[x4 + next];
    a4 += vec4f(dot(u4, w0[0]) + dot(v4, w0[1]), dot(u4, w1[0]) + dot(v4, w1[1]),
      dot(u4, w2[0]) + dot(v4, w2[1]), dot(u4, w3[0]) + dot(v4, w3[1]));
    b4 += vec4f(dot(u4, w4[0]) + dot(v4, w4[1]), dot(u4, w5[0]) + dot(v4, w5[1]),
      dot(u4, w6[0]) + dot(v4, w6[1]), dot(u4, w7[0]) + dot(v4, w7[1]));
    let u5 = x[x5 + at];
    let v5 = x[x5 + next];
    a5 += vec4f(dot(u5, w0[0]) + dot(v5, w0[1]), dot(u5, w1[0]) + dot(v5, w1[1]),
      dot(u5, w2[0]) + dot(v5, w2[1]), dot(u5, w3[0]) + dot(v5, w3[1]));
    b5 += vec4f(dot(u5, w4[0]) + dot(v5, w4[1]), dot(u5, w5[0]) + dot(v5, w5[1]),
      dot(u5, w6[0]) + dot(v5, w6[1]), dot(u5, w7[0]) + dot(v5, w7[1]));
    let u6 = x[x6 + at];
    let v6 = x[x6 + next];
    a6 += vec4f(dot(u6, w0[0]) + dot(v6, w0[1]), dot(u6, w1[0]) + dot(v6, w1[1]),
      dot(u6, w2[0]) + dot(v6, w2[1]), dot(u6, w3[0]) + dot(v6, w3[1]));
    b6 += vec4f(dot(u6, w4[0]) + dot(v6, w4[1]), dot(u6, w5[0]) + dot(v6, w5[1]),
      dot(u6, w6[0]) + dot(v6, w6[1]), dot(u6, w7[0]) + dot(v6, w7[1]));
    let u7 = x[x7 + at];
    let v7 = x[x7 + next];
    a7 += vec4f(dot(u7, w0[0]) + dot(v7, w0[1]), dot(u7, w1[0]) + dot(v7, w1[1]),
      dot(u7, w2[0]) + dot(v7, w2[1]), dot(u7, w3[0]) + dot(v7, w3[1]));
    b7 += vec4f(dot(u7, w4[0]) + dot(v7, w4[1]), dot(u7, w5[0]) + dot(v7, w5[1]),
      dot(u7, w6[0]) + dot(v7, w6[1]), dot(u7, w7[0]) + dot(v7, w7[1]));
  }
  store(row + 0u, col, a0);
  store(row + 0u, col + 4u, b0);
  store(row + 1u, col, a1);
  store(row + 1u, col + 4u, b1);
  store(row + 2u, col, a2);
  store(row + 2u, col + 4u, b2);
  store(row + 3u, col, a3);
  store(row + 3u, col + 4u, b3);
  store(row + 4u, col, a4);
  store(row + 4u, col + 4u, b4);
  store(row + 5u, col, a5);
  store(row + 5u, col + 4u, b5);
  store(row + 6u, col, a6);
  store(row + 6u, col + 4u, b6);
  store(row + 7u, col, a7);
  store(row + 7u, col + 4u, b7);
}
