// x to the y, for f32 as C's pow (its special values too), for i32 with wrapping. WGSL's own pow knows
// no negative x. Whole powers up to 64 are products, so squares and cubes round as torch's.
// needs: lib/number
fn product(x: f32, n: u32) -> f32 {
  var result = 1.0;
  var square = x;
  for (var rest = n; rest > 0u; rest >>= 1u) {
    if ((rest & 1u) == 1u) { result *= square; }
    if (rest > 1u) { square *= square; }
  }
  return result;
}

// What overflows: x = 0, infinities, and y infinite; a = |x|, not both 1.
fn power_edge(a: f32, y: f32) -> f32 {
  var grows = less(0.0, y);
  if (!less(1.0, a)) { grows = !grows; }
  return select(0.0, infinity(), grows);
}

fn power(x: f32, y: f32) -> f32 {
  if (same(y, 0.0) || same(x, 1.0)) { return 1.0; }
  if (is_nan(x) || is_nan(y)) { return nan(); }
  let a = abs(x);
  let ya = bitcast<u32>(y) & 0x7fffffffu;
  let is_whole = ya >= 0x4b000000u || trunc(y) == y; // from 2^23 on, every float is
  let is_odd = is_whole && ya < 0x4b800000u && (u32(abs(y)) & 1u) == 1u;
  let minus = (bitcast<u32>(x) >> 31u) == 1u;
  var result = 1.0;
  if (!truth(x) || bitcast<u32>(a) == 0x7f800000u || ya == 0x7f800000u) {
    if (!same(a, 1.0)) { result = power_edge(a, y); }
  } else if (minus && !is_whole) {
    return nan();
  } else if (is_whole && ya <= 0x42800000u) {
    result = product(a, u32(abs(y)));
    if (less(y, 0.0)) { result = 1.0 / result; }
  } else if (same(abs(y), 0.5)) {
    result = sqrt(a);
    if (less(y, 0.0)) { result = 1.0 / result; }
  } else {
    result = exp2(y * log2(a));
  }
  return select(result, -result, minus && is_odd);
}

// A negative y leaves only what 1 / x keeps whole: 1 and -1.
fn power_whole(x: i32, y: i32) -> i32 {
  if (y < 0) { return select(0, select(1, x, (y & 1) == 1), abs(x) == 1); }
  var result = 1;
  var square = x;
  for (var rest = u32(y); rest > 0u; rest >>= 1u) {
    if ((rest & 1u) == 1u) { result *= square; }
    square *= square;
  }
  return result;
}
