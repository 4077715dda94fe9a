// out[n, k] = sum_m d_out[m, n] * x[m, k]; a workgroup WM of n by WN of k through workgroup memory,
// an invocation RM x RN. For many rows on a GPU. n % 4 == 0, k % 4 == 0.
// needs: lib/outer
struct Params { m: u32, n: u32, k: u32 }
@group(0) @binding(0) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

// Slices of 16 rows m; rows past the end are zero, columns past the end are not stored.
fn fill(b: u32, row: u32, col: u32, m: u32) {
  if (b < WM) {
    for (var i = b; i < 16u * A4; i += WM) {
      let at = min(m + i / A4, params.m - 1u) * params.n + min(row + 4u * (i % A4), params.n - 4u);
      put_a(i / A4, i % A4, select(vec4f(), d_out[at / 4u], m + i / A4 < params.m));
    }
  } else {
    for (var i = b - WM; i < 16u * B4; i += WN) {
      let at = min(m + i / B4, params.m - 1u) * params.k + min(col + 4u * (i % B4), params.k - 4u);
      put_b(i / B4, i % B4, x[at / 4u]);
    }
  }
}

@compute @workgroup_size(TX, TY)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let down = (params.n + WM - 1u) / WM;
  let tile = wid.x + wid.y * groups.x;
  let row = tile % down * WM;
  let col = tile / down * WN;
  var sums: Sums;
  for (var m = 0u; m < params.m; m += 16u) {
    for (var b = lane; b < WM + WN; b += LANES) { fill(b, row, col, m); }
    workgroupBarrier();
    add_slices(&sums, local);
    workgroupBarrier();
  }
  for (var r = 0u; r < RM; r++) {
    let n = row + tile_row(r, local);
    for (var c = 0u; c < C4; c++) {
      let k = col + tile_col(c, local);
      if (n < params.n && k < params.k) { out[(n * params.k + k) / 4u] = sums[r * C4 + c]; }
    }
  }
}
