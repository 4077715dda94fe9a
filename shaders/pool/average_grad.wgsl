// d x[at] = the sum of g / count over the outputs whose windows hold it; one invocation an element
// of x. Gathers, so no atomics. Any sizes.
// needs: lib/grid lib/pool
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let start = plane(i, params.size, params.out);
  let w = reached(spot(i, params.size));
  var sum = 0.0;
  for (var r = w.x; r < w.z; r++) {
    for (var c = w.y; c < w.w; c++) {
      sum += g[start + u32(r * params.out.y + c)] / count(vec2i(r, c));
    }
  }
  out[i] = sum;
}
