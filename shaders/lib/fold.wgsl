// Rows of a reduction over any dims: `kept` walks the outputs, `walk` the terms of each.
// needs: lib/rows
struct Params {
  n: u32, terms: u32, scale: f32, nan: u32,
  kept_rank: u32, walk_rank: u32, pad0: u32, pad1: u32,
  kept: array<vec4u, 2>, kept_stride: array<vec4u, 2>,
  walk: array<vec4u, 2>, walk_stride: array<vec4u, 2>,
}
@group(1) @binding(0) var<uniform> params: Params;

// Where output `row`'s terms begin.
fn first(row: u32) -> u32 {
  var rest = row;
  var at = 0u;
  for (var k = 0u; k < params.kept_rank; k++) {
    let d = 7u - k;
    at += rest % params.kept[d / 4u][d % 4u] * params.kept_stride[d / 4u][d % 4u];
    rest /= params.kept[d / 4u][d % 4u];
  }
  return at;
}

// How far from there term j lies.
fn term(j: u32) -> u32 {
  if (params.walk_rank < 2u) { return j * params.walk_stride[1].w; }
  var rest = j;
  var at = 0u;
  for (var k = 0u; k < params.walk_rank; k++) {
    let d = 7u - k;
    at += rest % params.walk[d / 4u][d % 4u] * params.walk_stride[d / 4u][d % 4u];
    rest /= params.walk[d / 4u][d % 4u];
  }
  return at;
}
