// out[m, k] = sum_n g[m, n] * weight(n, k); a workgroup 64 x 64 outputs through workgroup memory
// (g 64 x 16, weights 16 x 64), an invocation 4 rows x 4 k. For many rows on a GPU.
// n % 16 == 0, k % 4 == 0.
struct Params { w: vec4u, m: u32, n: u32, k: u32, pad: u32 }
@group(0) @binding(0) var<storage, read> g: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;
var<workgroup> tile_g: array<f32, 1024>; // [n][row]
var<workgroup> tile_w: array<vec4f, 256>; // [n][k / 4]

@compute @workgroup_size(16, 16)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let k4 = params.k / 4u;
  let n4 = params.n / 4u;
  let across = (k4 + 15u) / 16u;
  let tile = wid.x + wid.y * groups.x;
  let row = tile / across * 64u;
  let col = tile % across * 16u + local.x;
  let load_row = min(row + lane / 4u, params.m - 1u);
  let load_col = min(col, k4 - 1u);
  var acc: array<vec4f, 4>;
  for (var n = 0u; n < params.n; n += 16u) {
    let v = g[load_row * n4 + n / 4u + lane % 4u];
    let slot = lane % 4u * 256u + lane / 4u;
    tile_g[slot] = v.x;
    tile_g[slot + 64u] = v.y;
    tile_g[slot + 128u] = v.z;
    tile_g[slot + 192u] = v.w;
    tile_w[lane] = weight4(n + local.y, 4u * load_col);
    workgroupBarrier();
    for (var j = 0u; j < 16u; j++) {
      let w = tile_w[j * 16u + local.x];
      for (var r = 0u; r < 4u; r++) { acc[r] += tile_g[j * 64u + local.y * 4u + r] * w; }
    }
    workgroupBarrier();
  }
  for (var r = 0u; r < 4u; r++) {
    let m = row + local.y * 4u + r;
    if (m < params.m && col < k4) { out[m * k4 + col] = acc[r]; }
  }
}
