// Windows that share the plane among the outputs, as even as whole numbers allow: output o of m sees
// from floor(o n / m) to ceil((o + 1) n / m).
// needs: lib/pool

// a * b / c rounded down, where a * b may not fit 32 bits.
fn share(a: u32, b: u32, c: u32) -> u32 {
  if (a < 65536u && b < 65536u) { return a * b / c; }
  var q = 0u;
  var r = 0u;
  for (var bit = 32u; bit > 0u; bit--) {
    q *= 2u;
    r *= 2u;
    if (((b >> (bit - 1u)) & 1u) == 1u) {
      q += a / c;
      r += a % c;
    }
    q += r / c;
    r %= c;
  }
  return q;
}

// From the first to past the last of n that the i-th of m shares.
fn span(i: i32, m: i32, n: i32) -> vec2i {
  let last = share(u32(m - 1 - i), u32(n), u32(m)); // from the other end: rounds up
  return vec2i(vec2u(share(u32(i), u32(n), u32(m)), u32(n) - last));
}

fn window(o: vec2i) -> vec4i {
  let y = span(o.x, params.out.x, params.size.x);
  let x = span(o.y, params.out.y, params.size.y);
  return vec4i(y.x, x.x, y.y, x.y);
}

fn reached(at: vec2i) -> vec4i {
  let y = span(at.x, params.size.x, params.out.x);
  let x = span(at.y, params.size.y, params.out.y);
  return vec4i(y.x, x.x, y.y, x.y);
}

fn count(o: vec2i) -> f32 {
  let w = window(o);
  return f32(w.z - w.x) * f32(w.w - w.y);
}
