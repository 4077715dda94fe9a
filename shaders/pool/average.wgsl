// out[o] = the sum of x in window(o) / count(o), window and count linked; one invocation an output.
// Any sizes.
// needs: lib/grid lib/pool
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let start = plane(i, params.out, params.size);
  let o = spot(i, params.out);
  let w = window(o);
  var sum = 0.0;
  for (var r = w.x; r < w.z; r++) {
    for (var c = w.y; c < w.w; c++) { sum += x[start + u32(r * params.size.y + c)]; }
  }
  out[i] = sum / count(o);
}
