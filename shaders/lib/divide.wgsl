// Quotients. WGSL promises a / b for 2^-126 <= |b| <= 2^126: a driver may multiply by 1 / b, which of
// the largest b is subnormal, and so 0, and 0 of infinity NaN. A power of two takes them down, exactly
// where the quotient is no subnormal.
fn over(a: f32, b: f32) -> f32 {
  let s = select(1.0, 0.0625, abs(b) > 4e37);
  return (a * s) / (b * s);
}

// a / b rounded as IEEE 754 says. WGSL allows 2.5 ULP, and a quantiser divides right at its ties: the
// largest weight of a group is 7.5 scales. Long division of the mantissas, one bit a turn; results
// that leave the normal range take the plain operator, as do zeros.
fn divide(a: f32, b: f32) -> f32 {
  let x = bitcast<u32>(a);
  let y = bitcast<u32>(b);
  let ex = (x >> 23u) & 255u;
  let ey = (y >> 23u) & 255u;
  if (ex == 0u || ey == 0u || ex == 255u || ey == 255u) { return over(a, b); }
  var rest = (x & 0x7fffffu) | 0x800000u;
  let by = (y & 0x7fffffu) | 0x800000u;
  var exponent = i32(ex) - i32(ey) + 127;
  if (rest < by) {
    rest <<= 1u;
    exponent--;
  }
  var bits = 0u; // 24 of the mantissa, then the one that rounds
  for (var i = 0u; i < 25u; i++) {
    bits <<= 1u;
    if (rest >= by) {
      rest -= by;
      bits |= 1u;
    }
    rest <<= 1u;
  }
  var mantissa = bits >> 1u;
  if ((bits & 1u) == 1u && (rest != 0u || (mantissa & 1u) == 1u)) { mantissa++; }
  if (mantissa == 0x1000000u) {
    mantissa >>= 1u;
    exponent++;
  }
  if (exponent <= 0 || exponent >= 255) { return over(a, b); }
  return bitcast<f32>(((x ^ y) & 0x80000000u) | (u32(exponent) << 23u) | (mantissa & 0x7fffffu));
}
