// out[m, k] = sum_n g[m, n] * weight(n, k); one invocation 8 rows x 8 k, four weight rows a step. No
// workgroup memory: each value loaded is used eight times, which is what a software adapter pays for.
// n % 4 == 0, k % 8 == 0; rows past the end repeat the last.
// needs: lib/grid
struct Params { w: vec4u, m: u32, n: u32, k: u32, pad: u32 }
@group(0) @binding(0) var<storage, read> g: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

fn store(row: u32, at: u32, a: vec4f, b: vec4f) {
  if (row >= params.m) { return; }
  out[row * (params.k / 4u) + at] = a;
  out[row * (params.k / 4u) + at + GAP / 4u] = b;
}

// Where row `row` of g starts, in vec4.
fn start(row: u32) -> u32 {
  return min(row, params.m - 1u) * (params.n / 4u);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let pairs = params.k / 8u;
  let row = i / pairs * 8u;
  if (row >= params.m) { return; }
  let k = pair_at(i % pairs);
  let g0 = start(row + 0u);
  let g1 = start(row + 1u);
  let g2 = start(row + 2u);
  let g3 = start(row + 3u);
  let g4 = start(row + 4u);
  let g5 = start(row + 5u);
  let g6 = start(row + 6u);
  let g7 = start(row + 7u);
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
  for (var n = 0u; n < params.n / 4u; n++) {
    let w0 = weight8(4u * n + 0u, k);
    let w1 = weight8(4u * n + 1u, k);
    let w2 = weight8(4u * n + 2u, k);
    let w3 = weight8(4u * n + 3u, k);
    let v0 = g[g0 + n];
    a0 += v0.x * w0[0] + v0.y * w1[0] + v0.z * w2[0] + v0.w * w3[0];
    b0 += v0.x * w0[1] + v0.y * w1[1] + v0.z * w2[1] + v0.w * w3[1];
    let v1 = g[g1 + n];
    a1 += v1.x * w0[0] + v1.y * w1[0] + v1.z * w2[0] + v1.w * w3[0];
    b1 += v1.x * w0[1] + v1.y * w1[1] + v1.z * w2[1] + v1.w * w3[1];
    let v2 = g[g2 + n];
    a2 += v2.x * w0[0] + v2.y * w1[0] + v2.z * w2[0] + v2.w * w3[0];
    b2 += v2.x * w0[1] + v2.y * w1[1] + v2.z * w2[1] + v2.w * w3[1];
    let v3 = g[g3 + n];
    a3 += v3.x * w0[0] + v3.y * w1[0] + v3.z * w2[0] + v3.w * w3[0];
    b3 += v3.x * w0[1] + v3.y * w1[1] + v3.z * w2[1] + v3.w * w3[1];
    let v4 = g[g4 + n];
    a4 += v4.x * w0[0] + v4.y * w1[0] + v4.z * w2[0] + v4.w * w3[0];
    b4 += v4.x * w0[1] + v4.y * w1[1] + v4.z * w2[1] + v4.w * w3[1];
    let v5 = g[g5 + n];
    a5 += v5.x * w0[0] + v5.y * w1[0] + v5.z * w2[0] + v5.w * w3[0];
    b5 += v5.x * w0[1] + v5.y * w1[1] + v5.z * w2[1] + v5.w * w3[1];
    let v6 = g[g6 + n];
    a6 += v6.x * w0[0] + v6.y * w1[0] + v6.z * w2[0] + v6.w * w3[0];
    b6 += v6.x * w0[1] + v6.y * w1[1] + v6.z * w2[1] + v6.w * w3[1];
    let v7 = g[g7 + n];
    a7 += v7.x * w0[0] + v7.y * w1[0] + v7.z * w2[0] + v7.w * w3[0];
    b7 += v7.x * w0[1] + v7.y * w1[1] + v7.z * w2[1] + v7.w * w3[1];
  }
  store(row + 0u, k / 4u, a0, b0);
  store(row + 1u, k / 4u, a1, b1);
  store(row + 2u, k / 4u, a2, b2);
  store(row + 3u, k / 4u, a3, b3);
  store(row + 4u, k / 4u, a4, b4);
  store(row + 5u, k / 4u, a5, b5);
  store(row + 6u, k / 4u, a6, b6);
  store(row + 7u, k / 4u, a7, b7);
}
