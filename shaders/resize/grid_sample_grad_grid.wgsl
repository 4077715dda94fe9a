// d grid[b, o] = (the sum over channels of g times how input changes there along x, along y) times
// how fast the position moves; zero of the nearest. One invocation a point. Any sizes.
// needs: lib/grid lib/grid_sample lib/texel
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read> input: array<f32>;
@group(0) @binding(2) var<storage, read> grid: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let points = u32(params.out.x * params.out.y);
  let x = source(grid[2u * i], params.size.y);
  let y = source(grid[2u * i + 1u], params.size.x);
  let x0 = floor(x.x);
  let y0 = floor(y.x);
  let fx = x.x - x0;
  let fy = y.x - y0;
  var sum = vec2f();
  for (var c = 0u; c < params.channels && params.nearest == 0u; c++) {
    let image = i / points * params.channels + c;
    let start = image * u32(params.size.x * params.size.y);
    let a = texel(start, y0, x0);
    let b = texel(start, y0, x0 + 1.0);
    let d = texel(start, y0 + 1.0, x0);
    let e = texel(start, y0 + 1.0, x0 + 1.0);
    let slope = vec2f((b - a) * (1.0 - fy) + (e - d) * fy, (d - a) * (1.0 - fx) + (e - b) * fx);
    sum += g[image * points + i % points] * slope;
  }
  out[2u * i] = sum.x * x.y;
  out[2u * i + 1u] = sum.y * y.y;
}
