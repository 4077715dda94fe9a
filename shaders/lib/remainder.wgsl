// fmod exactly, by long division of the mantissas eight bits a turn, and what torch builds on it:
// remainder with b's sign, and division rounded down. Whole numbers by zero give 0.
// needs: lib/number lib/divide
fn fmod(a: f32, b: f32) -> f32 {
  let x = bitcast<u32>(a) & 0x7fffffffu;
  let y = bitcast<u32>(b) & 0x7fffffffu;
  if (x >= 0x7f800000u || y > 0x7f800000u || y == 0u) { return nan(); }
  if (x < y) { return a; }
  let ex = max(x >> 23u, 1u);
  let ey = max(y >> 23u, 1u);
  let by = (y & 0x7fffffu) | select(0u, 0x800000u, y >= 0x800000u);
  var rest = ((x & 0x7fffffu) | select(0u, 0x800000u, x >= 0x800000u)) % by;
  for (var n = ex - ey; n > 0u; n -= min(n, 8u)) { rest = (rest << min(n, 8u)) % by; }
  let sign = bitcast<u32>(a) & 0x80000000u;
  if (rest == 0u) { return bitcast<f32>(sign); }
  let up = min(countLeadingZeros(rest) - 8u, ey - 1u); // to the leading bit, or to the subnormals
  let mantissa = rest << up;
  let exponent = select(0u, ey - up, mantissa >= 0x800000u);
  return bitcast<f32>(sign | (exponent << 23u) | (mantissa & 0x7fffffu));
}

fn other_sign(m: f32, b: f32) -> bool { return truth(m) && less(m, 0.0) != less(b, 0.0); }

fn remainder(a: f32, b: f32) -> f32 {
  let m = fmod(a, b);
  return keep(m, select(m, m + b, other_sign(m, b)));
}

fn floor_divide(a: f32, b: f32) -> f32 {
  if (!truth(b)) { return a / b; }
  let m = fmod(a, b);
  if (is_nan(m)) { return m; }
  let q = divide(a - m, b) - select(0.0, 1.0, other_sign(m, b));
  let down = floor(q);
  return select(down, down + 1.0, q - down > 0.5);
}

fn quotient(a: i32, b: i32) -> i32 { return select(a / select(b, 1, b == 0), 0, b == 0); }

fn rest_of(a: i32, b: i32) -> i32 { return select(a % select(b, 1, b == 0), 0, b == 0); }

fn other_side(a: i32, b: i32) -> bool { return rest_of(a, b) != 0 && (a < 0) != (b < 0); }

fn floor_whole(a: i32, b: i32) -> i32 { return quotient(a, b) - select(0, 1, other_side(a, b)); }

fn remainder_whole(a: i32, b: i32) -> i32 { return rest_of(a, b) + select(0, b, other_side(a, b)); }
