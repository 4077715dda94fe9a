// d x[at] = the sum of g over the outputs that see it, times what part they take; one invocation an
// element of x. Those outputs are a run along each axis: taps never go back. Any sizes.
// needs: lib/grid lib/resize
@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

// The first output along an axis whose second tap is at or past `at`: a guess, then steps.
fn first_seen(at: i32, axis: u32) -> i32 {
  let guess = floor(f32(at) / max(params.scale[axis], 1e-9));
  var o = min(i32(min(guess, 2e9)), params.out[axis] - 1);
  while (o > 0 && tap(vec2i(o - 1)).second[axis] >= at) { o--; }
  while (o < params.out[axis] && tap(vec2i(o)).second[axis] < at) { o++; }
  return o;
}

// What part of place `at` a tap takes.
fn part(t: Tap, at: i32, axis: u32) -> f32 {
  return select(0.0, 1.0 - t.weight[axis], t.first[axis] == at) +
    select(0.0, t.weight[axis], t.second[axis] == at);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let h = u32(params.size.x);
  let w = u32(params.size.y);
  let start = i / w / h * u32(params.out.x * params.out.y);
  let y = i32(i / w % h);
  let x = i32(i % w);
  let left = first_seen(x, 1u);
  var sum = 0.0;
  for (var r = first_seen(y, 0u); r < params.out.x; r++) {
    let down = tap(vec2i(r));
    if (down.first.x > y) { break; }
    var line = 0.0;
    for (var c = left; c < params.out.y; c++) {
      let across = tap(vec2i(c));
      if (across.first.y > x) { break; }
      line += part(across, x, 1u) * g[start + u32(r * params.out.y + c)];
    }
    sum += part(down, y, 0u) * line;
  }
  out[i] = sum;
}
