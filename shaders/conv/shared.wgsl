// store(group, m, n, sum_k left * right); a workgroup 64 x 64 outputs through workgroup memory (two
// 4 KiB tiles, 16 k a step), an invocation 4 x 4. For large convolutions on a GPU. Any sizes: what
// lies past an edge is zero.
// needs: lib/conv
var<workgroup> tile_left: array<f32, 1024>; // [k][row]
var<workgroup> tile_right: array<vec4f, 256>; // [k][column / 4]

@compute @workgroup_size(16, 16)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32,
        @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let across = (params.n + 63u) / 64u;
  let down = (params.m + 63u) / 64u;
  let tile = wid.x + wid.y * groups.x;
  let group = tile / (across * down);
  let row = tile / across % down * 64u;
  let col = tile % across * 64u + local.x * 4u;
  var places: array<vec3i, 4>;
  for (var c = 0u; c < 4u; c++) { places[c] = place(group, min(col + c, params.n - 1u)); }
  var acc: array<vec4f, 4>;
  for (var k = 0u; k < params.k; k += 16u) {
    let kl = k + local.x;
    let at = split(kl);
    for (var i = 0u; i < 4u; i++) {
      let m = row + local.y + 16u * i;
      var v = 0.0;
      if (group < params.groups && m < params.m && kl < params.k) { v = left(group, m, kl, at); }
      tile_left[local.x * 64u + local.y + 16u * i] = v;
    }
    var v = vec4f();
    let below = split(k + local.y);
    for (var c = 0u; c < 4u; c++) {
      if (group < params.groups && col + c < params.n && k + local.y < params.k) {
        v[c] = right(places[c], below);
      }
    }
    tile_right[lane] = v;
    workgroupBarrier();
    for (var j = 0u; j < 16u; j++) {
      let b = tile_right[j * 16u + local.x];
      for (var r = 0u; r < 4u; r++) { acc[r] += tile_left[j * 64u + local.y * 4u + r] * b; }
    }
    workgroupBarrier();
  }
  for (var r = 0u; r < 4u; r++) {
    for (var c = 0u; c < 4u; c++) {
      let m = row + local.y * 4u + r;
      if (group < params.groups && m < params.m && col + c < params.n) {
        store(group, m, col + c, acc[r][c]);
      }
    }
  }
}
