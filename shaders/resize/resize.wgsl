// out[o] = x blended at tap(o), both linked; one invocation an output. Any sizes.
// needs: lib/grid lib/resize
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let h = u32(params.out.x);
  let w = u32(params.out.y);
  let start = i / w / h * u32(params.size.x * params.size.y);
  let t = tap(vec2i(vec2u(i / w % h, i % w)));
  let top = start + u32(t.first.x * params.size.y);
  let low = start + u32(t.second.x * params.size.y);
  let l = u32(t.first.y);
  let r = u32(t.second.y);
  let above = blend(x[top + l], x[top + r], t.weight.y);
  out[i] = blend(above, blend(x[low + l], x[low + r], t.weight.y), t.weight.x);
}
