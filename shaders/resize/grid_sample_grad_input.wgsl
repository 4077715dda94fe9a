// d input[b, c, at] = the sum of g[b, c, o] times what part `at` has in o; one invocation an element,
// which asks every point of the grid: no atomics, so always the same sum. Any sizes.
// needs: lib/grid lib/grid_sample
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read> grid: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

// What part of a sample at `p` place `at` has, along one axis.
fn part(p: f32, at: f32) -> f32 {
  if (!finite(p)) { return 0.0; }
  if (params.nearest == 1u) { return select(0.0, 1.0, round(p) == at); }
  let first = floor(p);
  return select(0.0, 1.0 - (p - first), first == at) + select(0.0, p - first, first + 1.0 == at);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let h = u32(params.size.x);
  let w = u32(params.size.y);
  let points = u32(params.out.x * params.out.y);
  let start = i / w / h * points;
  let first = i / w / h / params.channels * points;
  var sum = 0.0;
  for (var o = 0u; o < points; o++) {
    let y = part(source(grid[2u * (first + o) + 1u], params.size.x).x, f32(i / w % h));
    if (y == 0.0) { continue; }
    let x = part(source(grid[2u * (first + o)], params.size.y).x, f32(i % w));
    if (x != 0.0) { sum += y * x * g[start + o]; }
  }
  out[i] = sum;
}
