// sine, cosine, tangent of any f32, to about an ULP: WGSL's own promise 2^-11, and that in [-pi, pi].
// The turn is taken out exactly, in whole numbers (Payne and Hanek 1983): 24 bits of x times 96 bits
// of 2 / pi, from the bit where the product stops being whole turns.
// needs: lib/number
struct Turn { quarter: u32, angle: f32 } // x = quarter * pi / 2 + angle, |angle| <= pi / 4

// 32 zero bits, then 2 / pi.
const TWO_OVER_PI = array(0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                          0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);

fn high(a: u32, b: u32) -> u32 { // of the 64 bits of a * b
  let a1 = a >> 16u;
  let a0 = a & 0xffffu;
  let b1 = b >> 16u;
  let b0 = b & 0xffffu;
  let middle = a1 * b0 + ((a0 * b0) >> 16u);
  return a1 * b1 + (middle >> 16u) + ((a0 * b1 + (middle & 0xffffu)) >> 16u);
}

fn turn(x: f32) -> Turn {
  let bits = bitcast<u32>(x) & 0x7fffffffu;
  if (bits < 0x3f490fdbu) { return Turn(0u, x); }
  let m = (bits & 0x7fffffu) | 0x800000u;
  let start = (bits >> 23u) - 120u;
  let shift = start % 32u;
  var table = TWO_OVER_PI;
  var w = array<u32, 3>();
  for (var i = 0u; i < 3u; i++) {
    let at = start / 32u + i;
    w[i] = table[at] << shift;
    if (shift > 0u) { w[i] |= table[at + 1u] >> (32u - shift); }
  }
  let p2 = m * w[2];
  let p1 = m * w[1] + high(m, w[2]);
  let p0 = m * w[0] + high(m, w[1]) + select(0u, 1u, p1 < m * w[1]);
  var quarter = p0 >> 30u;
  var upper = (p0 << 2u) | (p1 >> 30u); // the fraction of a quarter turn, 64 bits
  var lower = (p1 << 2u) | (p2 >> 30u);
  let back = upper >= 0x80000000u;
  if (back) {
    quarter++;
    lower = ~lower + 1u;
    upper = ~upper + select(0u, 1u, lower == 0u);
  }
  let z = countLeadingZeros(upper);
  var top = lower;
  if (z < 32u) { top = upper << z; }
  if (z > 0u && z < 32u) { top |= lower >> (32u - z); }
  let angle = f32(top) * bitcast<f32>((95u - z) << 23u) * 1.5707964;
  let minus = (bitcast<u32>(x) >> 31u) == 1u;
  return Turn(select(quarter, 4u - quarter % 4u, minus) % 4u, select(angle, -angle, back != minus));
}

fn sine_of(t: f32) -> f32 {
  let s = t * t;
  return t + t * s * (-1.6666654611e-1 + s * (8.3321608736e-3 - s * 1.9515295891e-4));
}

fn cosine_of(t: f32) -> f32 {
  let s = t * t;
  let tail = 4.166664568298827e-2 + s * (-1.388731625493765e-3 + s * 2.443315711809948e-5);
  return 1.0 - 0.5 * s + s * s * tail;
}

fn quarters(t: Turn) -> f32 {
  let y = select(sine_of(t.angle), cosine_of(t.angle), t.quarter % 2u == 1u);
  return select(y, -y, t.quarter >= 2u);
}

fn is_endless(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) >= 0x7f800000u; }

fn sine(x: f32) -> f32 {
  if (is_endless(x)) { return nan(); }
  return quarters(turn(x));
}

fn cosine(x: f32) -> f32 {
  if (is_endless(x)) { return nan(); }
  let t = turn(x);
  return quarters(Turn((t.quarter + 1u) % 4u, t.angle));
}

fn tangent(x: f32) -> f32 { return sine(x) / cosine(x); }
