// out[o] = the largest of x in o's window, -infinity of none, a NaN if there is one; at[o] = where it
// lies in the plane, of equals the first, of NaNs the last. One invocation an output. Bits: a device's
// float comparisons may assume that no NaN comes. Any sizes.
// needs: lib/grid lib/order_f32 lib/pool
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read_write> indices: array<i32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let start = plane(i, params.out, params.size);
  let low = spot(i, params.out) * params.stride - params.padding;
  let skip = (max(-low, vec2i()) + params.dilation - 1) / params.dilation; // taps before the plane
  let first = low + skip * params.dilation;
  var best = 0xff800000u;
  var at = first.x * params.size.y + first.y;
  for (var r = skip.x; r < params.kernel.x; r++) {
    let y = low.x + r * params.dilation.x;
    if (y >= params.size.x) { break; }
    for (var c = skip.y; c < params.kernel.y; c++) {
      let spot = low.y + c * params.dilation.y;
      if (spot >= params.size.y) { break; }
      let bits = x[start + u32(y * params.size.y + spot)];
      if (key(bits) > key(best) || key(bits) == 0xffffffffu) {
        best = bits;
        at = y * params.size.y + spot;
      }
    }
  }
  out[i] = best;
  indices[i] = at;
}
