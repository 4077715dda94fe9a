// out[part, m, k] = sum_n g[m, n] * weight(n, k) over the part's n; a workgroup WM x WN outputs
// through workgroup memory, an invocation RM x RN. For many rows on a GPU. n % 16 == 0, k % 4 == 0.
// needs: lib/outer
struct Params { w: vec4u, m: u32, n: u32, k: u32, per: u32 }
@group(0) @binding(0) var<storage, read> g: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

// Block b of a slice: four rows of g at n .. n + 3, or four k of one row of the weight.
fn fill(b: u32, row: u32, col: u32, n: u32) {
  if (b < WM) {
    let last = params.m - 1u;
    let r = row + b / 4u * 4u;
    let n4 = params.n / 4u;
    let into = n / 4u + b % 4u;
    put_a_rows(4u * (b % 4u), b / 4u, mat4x4f(
      g[min(r, last) * n4 + into], g[min(r + 1u, last) * n4 + into],
      g[min(r + 2u, last) * n4 + into], g[min(r + 3u, last) * n4 + into]));
  } else {
    let at = b - WM;
    for (var i = at; i < 16u * B4; i += WN) {
      put_b(i / B4, i % B4, weight4(n + i / B4, min(col + 4u * (i % B4), params.k - 4u)));
    }
  }
}

@compute @workgroup_size(TX, TY)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let down = (params.m + WM - 1u) / WM;
  let across = (params.k + WN - 1u) / WN;
  let tile = wid.x + wid.y * groups.x;
  let row = tile % down * WM;
  let col = tile / down % across * WN;
  let part = tile / down / across;
  let end = min(params.n, (part + 1u) * params.per);
  var sums: Sums;
  for (var n = part * params.per; n < end; n += 16u) {
    for (var b = lane; b < WM + WN; b += LANES) { fill(b, row, col, n); }
    workgroupBarrier();
    add_slices(&sums, local);
    workgroupBarrier();
  }
  for (var r = 0u; r < RM; r++) {
    let m = row + tile_row(r, local);
    for (var c = 0u; c < C4; c++) {
      let k = col + tile_col(c, local);
      if (part * params.per < params.n && m < params.m && k < params.k) {
        out[((part * params.m + m) * params.k + k) / 4u] = sums[r * C4 + c];
      }
    }
  }
}
