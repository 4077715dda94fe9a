// out[m, n] = sum_k x[m, k] * weight(n, k) + bias[n]; a workgroup 64 x 64 outputs through workgroup
// memory (two 4 KiB tiles of 64 x 16), an invocation 4 x 4. For many rows on a GPU. k % 16 == 0.
struct Params { w: vec4u, m: u32, n: u32, k: u32, bias: u32 }
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
var<workgroup> tile_x: array<vec4f, 256>; // [k / 4][row]
var<workgroup> tile_w: array<vec4f, 256>; // [k / 4][column]

@compute @workgroup_size(16, 16)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let across = (params.n + 63u) / 64u;
  let tile = wid.x + wid.y * groups.x;
  let row = tile / across * 64u;
  let col = tile % across * 64u;
  let k4 = params.k / 4u;
  let load_row = min(row + lane / 4u, params.m - 1u);
  let load_col = min(col + lane / 4u, params.n - 1u);
  let slot = lane % 4u * 64u + lane / 4u;
  var acc: array<vec4f, 4>;
  for (var k = 0u; k < k4; k += 4u) {
    tile_x[slot] = x[load_row * k4 + k + lane % 4u];
    tile_w[slot] = weight4(load_col, 4u * (k + lane % 4u));
    workgroupBarrier();
    for (var j = 0u; j < 256u; j += 64u) {
      let w0 = tile_w[j + local.x];
      let w1 = tile_w[j + local.x + 16u];
      let w2 = tile_w[j + local.x + 32u];
      let w3 = tile_w[j + local.x + 48u];
      for (var r = 0u; r < 4u; r++) {
        let v = tile_x[j + local.y * 4u + r];
        acc[r] += vec4f(dot(v, w0), dot(v, w1), dot(v, w2), dot(v, w3));
      }
    }
    workgroupBarrier();
  }
  for (var r = 0u; r < 4u; r++) {
    let m = row + local.y * 4u + r;
    for (var c = 0u; c < 4u; c++) {
      let n = col + local.x + 16u * c;
      if (m < params.m && n < params.n) {
        var value = acc[r][c];
        if (params.bias == 1u) { value += bias[n]; }
        out[m * params.n + n] = value;
      }
    }
  }
}
