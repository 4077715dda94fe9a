// out[b, m, n] = finish(sum_k a[b, m, k] * b[b, k, n]); a workgroup 64 x 64 outputs through workgroup
// memory (two 4 KiB tiles, 16 k a step), an invocation 4 x 4. For large products on a GPU. Any
// sizes: what lies past an edge is zero.
struct Params {
  batch: u32, m: u32, n: u32, k: u32,
  alpha: f32, beta: f32, stride_row: u32, stride_col: u32,
}
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
var<workgroup> tile_a: array<f32, 1024>; // [k][row]
var<workgroup> tile_b: array<vec4f, 256>; // [k][column / 4]

@compute @workgroup_size(16, 16)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let across = (params.n + 63u) / 64u;
  let down = (params.m + 63u) / 64u;
  let tile = wid.x + wid.y * groups.x;
  let batch = tile / (across * down);
  let row = tile / across % down * 64u;
  let col = tile % across * 64u;
  let left = batch * params.m * params.k;
  let right = batch * params.k * params.n;
  var acc: array<vec4f, 4>;
  for (var k = 0u; k < params.k; k += 16u) {
    for (var i = 0u; i < 4u; i++) {
      let r = row + local.y + 16u * i;
      let inside = r < params.m && k + local.x < params.k;
      let v = a[min(left + r * params.k + k + local.x, params.batch * params.m * params.k - 1u)];
      tile_a[local.x * 64u + local.y + 16u * i] = select(0.0, v, inside);
    }
    var w = vec4f();
    for (var c = 0u; c < 4u; c++) {
      let n = col + local.x * 4u + c;
      if (n < params.n && k + local.y < params.k) { w[c] = b[right + (k + local.y) * params.n + n]; }
    }
    tile_b[lane] = w;
    workgroupBarrier();
    for (var j = 0u; j < 16u; j++) {
      let v = tile_b[j * 16u + local.x];
      for (var r = 0u; r < 4u; r++) { acc[r] += tile_a[j * 64u + local.y * 4u + r] * v; }
    }
    workgroupBarrier();
  }
  for (var r = 0u; r < 4u; r++) {
    for (var c = 0u; c < 4u; c++) {
      let m = row + local.y * 4u + r;
      let n = col + local.x * 4u + c;
      if (batch < params.batch && m < params.m && n < params.n) {
        out[(batch * params.m + m) * params.n + n] = finish(acc[r][c], m, n);
      }
    }
  }
}
