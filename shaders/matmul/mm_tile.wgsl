// out[b, m, n] = finish(sum_k a[b, m, k] * b[b, k, n]); one invocation 4 rows x 4 columns, four k a
// step. No workgroup memory. k % 4 == 0, n % 4 == 0; rows past the end repeat the last.
// needs: lib/grid
struct Params {
  batch: u32, m: u32, n: u32, k: u32,
  alpha: f32, beta: f32, stride_row: u32, stride_col: u32,
}
@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

fn store(batch: u32, row: u32, col: u32, sum: vec4f) {
  if (row >= params.m) { return; }
  let c = 4u * col;
  out[(batch * params.m + row) * (params.n / 4u) + col] = vec4f(finish(sum.x, row, c),
    finish(sum.y, row, c + 1u), finish(sum.z, row, c + 2u), finish(sum.w, row, c + 3u));
}

// Where row `row` of a starts, in vec4.
fn start(batch: u32, row: u32) -> u32 {
  return (batch * params.m + min(row, params.m - 1u)) * (params.k / 4u);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let n4 = params.n / 4u;
  let down = (params.m + 3u) / 4u;
  let batch = i / (down * n4);
  if (batch >= params.batch) { return; }
  let row = i / n4 % down * 4u;
  let col = i % n4;
  let a0 = start(batch, row);
  let a1 = start(batch, row + 1u);
  let a2 = start(batch, row + 2u);
  let a3 = start(batch, row + 3u);
  var at = batch * params.k * n4 + col;
  var s0 = vec4f();
  var s1 = vec4f();
  var s2 = vec4f();
  var s3 = vec4f();
  for (var k = 0u; k < params.k / 4u; k++) {
    let w = mat4x4f(b[at], b[at + n4], b[at + 2u * n4], b[at + 3u * n4]);
    s0 += w * a[a0 + k];
    s1 += w * a[a1 + k];
    s2 += w * a[a2 + k];
    s3 += w * a[a3 + k];
    at += 4u * n4;
  }
  store(batch, row, col, s0);
  store(batch, row + 1u, col, s1);
  store(batch, row + 2u, col, s2);
  store(batch, row + 3u, col, s3);
}
