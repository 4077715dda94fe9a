// out[m, n] = scale[m] * sum_k codes(input[m, k]) * weight(n, k) + bias[n]; one invocation ROWS x 4
// outputs, vec4 along k. k % 4 == 0 and so the group; ROWS is 1 or 4; rows and columns past the end
// repeat the last.
// needs: lib/grid
@group(0) @binding(0) var<storage, read> input: array<vec4f>;

fn dots(x: vec4f, w: mat4x4f) -> vec4f { return x * w; } // a column of w is a row of weights

fn store4(row: u32, col: u32, sum: vec4f, r: Row) {
  for (var c = 0u; c < 4u; c++) { store(row, col + c, sum[c], r); }
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let cols = (params.n + 3u) / 4u;
  let row = i / cols * ROWS;
  if (row >= params.m) { return; }
  let col = i % cols * 4u;
  let last = params.n - 1u;
  let r0 = row_at(row);
  let r1 = row_at(row + 1u);
  let r2 = row_at(row + 2u);
  let r3 = row_at(row + 3u);
  var a0 = vec4f();
  var a1 = vec4f();
  var a2 = vec4f();
  var a3 = vec4f();
  for (var k = 0u; k < params.k; k += 4u) {
    let w = mat4x4f(weight4(col, k), weight4(min(col + 1u, last), k),
                    weight4(min(col + 2u, last), k), weight4(min(col + 3u, last), k));
    a0 += dots(codes(input[(r0.at + k) / 4u], r0), w);
    if (ROWS > 1u) {
      a1 += dots(codes(input[(r1.at + k) / 4u], r1), w);
      a2 += dots(codes(input[(r2.at + k) / 4u], r2), w);
      a3 += dots(codes(input[(r3.at + k) / 4u], r3), w);
    }
  }
  store4(row, col, a0, r0);
  if (ROWS > 1u) {
    store4(row + 1u, col, a1, r1);
    store4(row + 2u, col, a2, r2);
    store4(row + 3u, col, a3, r3);
  }
}
