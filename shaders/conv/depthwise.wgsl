// y of a convolution whose groups have one channel each: finish(sum over the kernel); one invocation
// four neighbours of a row, so that a weight is read once for four. Links conv/forward for its
// bindings. Any sizes.
// needs: lib/grid lib/conv
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let width = u32(params.out.y);
  let height = u32(params.out.x);
  let across = (width + 3u) / 4u;
  let o = i / across / height % params.outputs;
  let image = i / across / height / params.outputs;
  if (image >= params.n / (width * height)) { return; }
  let oy = i / across % height;
  let ox = i % across * 4u;
  let plane = i32((image * params.channels + o / params.m) * area(params.size));
  let corner = vec2i(vec2u(oy, ox)) * params.stride - params.padding;
  let step = params.stride.y;
  var sum = vec4f();
  for (var r = 0; r < params.kernel.x; r++) {
    let y = corner.x + r * params.dilation.x;
    if (y < 0 || y >= params.size.x) { continue; }
    let line = plane + y * params.size.y;
    for (var c = 0; c < params.kernel.y; c++) {
      let w = weight[o * params.k + u32(r * params.kernel.y + c)];
      let ats = corner.y + c * params.dilation.y + vec4i(0, step, 2 * step, 3 * step);
      let inside = (ats >= vec4i()) & (ats < vec4i(params.size.y));
      let spots = line + clamp(ats, vec4i(), vec4i(params.size.y - 1));
      let v = vec4f(x[spots.x], x[spots.y], x[spots.z], x[spots.w]);
      sum += w * select(vec4f(), v, inside);
    }
  }
  for (var c = 0u; c < min(4u, width - ox); c++) {
    store(o / params.m, o % params.m, (image * height + oy) * width + ox + c, sum[c]);
  }
}
