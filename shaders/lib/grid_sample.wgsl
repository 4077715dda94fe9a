// Where a grid's points, -1 .. 1 over a plane of `size`, lie in it. `padding` 0: what lies outside is
// zero; 1: it is the border; 2: the plane goes on mirrored. A launch has n items.
// needs: lib/number
struct Params {
  n: u32, nearest: u32, padding: u32, aligned: u32,
  channels: u32, pad0: u32, size: vec2i, out: vec2i,
}
@group(1) @binding(0) var<uniform> params: Params;

fn finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u; }

// A position held within 0 .. last, NaN at 0, and its slope, none at an end.
fn held(at: vec2f, last: f32) -> vec2f {
  if (is_nan(at.x) || !less(0.0, at.x)) { return vec2f(); }
  if (!less(at.x, last)) { return vec2f(last, 0.0); }
  return at;
}

// A position mirrored at the plane's edges (at its outer middles if aligned), and its slope.
fn mirrored(at: vec2f, n: f32) -> vec2f {
  let low = select(-0.5, 0.0, params.aligned == 1u);
  let span = select(n, n - 1.0, params.aligned == 1u);
  if (span == 0.0 || !finite(at.x)) { return vec2f(); }
  let away = abs(at.x - low);
  let flips = floor(away / span);
  let rest = away - flips * span;
  let sign = select(at.y, -at.y, at.x < low);
  if (i32(flips - 2.0 * floor(flips / 2.0)) == 0) { return vec2f(rest + low, sign); }
  return vec2f(span - rest + low, -sign);
}

// The position along an axis of n, and how fast it moves with the grid's coordinate.
fn source(c: f32, size: i32) -> vec2f {
  let n = f32(size);
  var at = vec2f(((c + 1.0) * n - 1.0) / 2.0, n / 2.0);
  if (params.aligned == 1u) { at = vec2f((c + 1.0) / 2.0 * (n - 1.0), (n - 1.0) / 2.0); }
  if (params.padding == 0u) { return at; }
  if (params.padding == 2u) { at = mirrored(at, n); }
  return held(at, n - 1.0);
}

fn within(y: f32, x: f32) -> bool {
  return y >= 0.0 && x >= 0.0 && y < f32(params.size.x) && x < f32(params.size.y);
}

fn offset(y: f32, x: f32) -> u32 { return u32(i32(y) * params.size.y + i32(x)); }
