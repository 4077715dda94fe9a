// d x[at] = the sum of g over the outputs whose windows hold it and whose index it is; one invocation
// an element of x. Gathers, so no atomics. Links pool/fixed. Any sizes.
// needs: lib/grid lib/pool
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read> indices: array<i32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let start = plane(i, params.size, params.out);
  let at = spot(i, params.size);
  let own = at.x * params.size.y + at.y;
  let w = reached(at);
  var sum = 0.0;
  for (var r = w.x; r < w.z; r++) {
    for (var c = w.y; c < w.w; c++) {
      let o = start + u32(r * params.out.y + c);
      let gap = at + params.padding - vec2i(r, c) * params.stride;
      if (indices[o] == own && all(gap % params.dilation == vec2i())) { sum += g[o]; }
    }
  }
  out[i] = sum;
}
