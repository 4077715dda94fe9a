// out[b, c, o] = input[b, c] where grid[b, o] = (x, y) points: the nearest place, or blended of four.
// One invocation an output. Any sizes.
// needs: lib/grid lib/grid_sample lib/texel
@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read> grid: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let points = u32(params.out.x * params.out.y);
  let start = i / points * u32(params.size.x * params.size.y);
  let point = 2u * (i / points / params.channels * points + i % points);
  let x = source(grid[point], params.size.y).x;
  let y = source(grid[point + 1u], params.size.x).x;
  let known = finite(x) && finite(y);
  if (params.nearest == 1u) {
    out[i] = 0.0;
    if (known) { out[i] = texel(start, round(y), round(x)); }
    return;
  }
  let x0 = floor(x);
  let y0 = floor(y);
  let above = texel(start, y0, x0) * (1.0 - (x - x0)) + texel(start, y0, x0 + 1.0) * (x - x0);
  let below = texel(start, y0 + 1.0, x0) * (1.0 - (x - x0)) +
    texel(start, y0 + 1.0, x0 + 1.0) * (x - x0);
  out[i] = above * (1.0 - (y - y0)) + below * (y - y0);
  if (!known) { out[i] = nan(); }
}
