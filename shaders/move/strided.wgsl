// Where out's element lies in x: coordinate c of each axis becomes c + low, bounded by span, and
// every step-th of it counts; outside lies `fill`, or the axis begins again if `wraps`.
struct Params {
  n: u32, offset: u32, fill: u32, wraps: u32,
  rank: u32, pad0: u32, pad1: u32, pad2: u32,
  size: array<vec4u, 2>, stride: array<vec4u, 2>,
  low: array<vec4u, 2>, span: array<vec4u, 2>, step: array<vec4u, 2>,
}

fn element(i: u32) -> u32 {
  var rest = i;
  var at = params.offset;
  for (var d = 7u; d + params.rank > 7u; d--) {
    let n = params.size[d / 4u][d % 4u];
    var c = rest % n + params.low[d / 4u][d % 4u];
    rest /= n;
    let span = params.span[d / 4u][d % 4u];
    if (c >= span) {
      if (params.wraps == 0u) { return params.fill; }
      c %= span;
    }
    let step = params.step[d / 4u][d % 4u];
    if (step > 1u) {
      if (c % step != 0u) { return params.fill; }
      c /= step;
    }
    at += c * params.stride[d / 4u][d % 4u];
    if (d == 0u) { break; }
  }
  return part(x[at / PER], at);
}
