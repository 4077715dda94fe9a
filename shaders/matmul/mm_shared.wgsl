// out[b, m, n] = finish(sum_k a[b, m, k] * b[b, k, n]); a workgroup WM x WN outputs through workgroup
// memory, an invocation RM x RN. For large products on a GPU. Any sizes: what lies past an edge is
// zero.
// needs: lib/outer
struct Params {
  batch: u32, m: u32, n: u32, k: u32,
  alpha: f32, beta: f32, stride_row: u32, stride_col: u32,
}
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

fn a_four(batch: u32, row: u32, k: u32) -> vec4f {
  var v = vec4f();
  for (var j = 0u; j < 4u; j++) {
    if (row < params.m && k + j < params.k) { v[j] = a[(batch * params.m + row) * params.k + k + j]; }
  }
  return v;
}

fn b_four(batch: u32, k: u32, col: u32) -> vec4f {
  var v = vec4f();
  for (var j = 0u; j < 4u; j++) {
    if (k < params.k && col + j < params.n) { v[j] = b[(batch * params.k + k) * params.n + col + j]; }
  }
  return v;
}

// Item i of a slice: four rows of a at k .. k + 3, or four columns of b at one k or more.
fn fill(i: u32, batch: u32, row: u32, col: u32, k: u32) {
  if (i < WM) {
    let r = row + i / 4u * 4u;
    let at = k + 4u * (i % 4u);
    put_a_rows(4u * (i % 4u), i / 4u, mat4x4f(a_four(batch, r, at), a_four(batch, r + 1u, at),
      a_four(batch, r + 2u, at), a_four(batch, r + 3u, at)));
  } else {
    for (var j = i - WM; j < 16u * B4; j += WN) {
      put_b(j / B4, j % B4, b_four(batch, k + j / B4, col + 4u * (j % B4)));
    }
  }
}

@compute @workgroup_size(TX, TY)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let down = (params.m + WM - 1u) / WM;
  let across = (params.n + WN - 1u) / WN;
  let tile = wid.x + wid.y * groups.x;
  let row = tile % down * WM;
  let col = tile / down % across * WN;
  let batch = tile / down / across;
  let batch_read = min(batch, params.batch - 1u); // a folded grid has a few tiles too many
  var sums: Sums;
  for (var k = 0u; k < params.k; k += 16u) {
    for (var i = lane; i < WM + WN; i += LANES) { fill(i, batch_read, row, col, k); }
    workgroupBarrier();
    add_slices(&sums, local);
    workgroupBarrier();
  }
  for (var r = 0u; r < RM; r++) {
    let m = row + tile_row(r, local);
    for (var c = 0u; c < RN; c++) {
      let n = col + tile_col(c / 4u, local) + c % 4u;
      if (batch < params.batch && m < params.m && n < params.n) {
        out[(batch * params.m + m) * params.n + n] = finish(sums[r * C4 + c / 4u][c % 4u], m, n);
      }
    }
  }
}
