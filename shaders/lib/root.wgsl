// Root and logarithm, with NaN, infinity and zero, which WGSL leaves open.
// needs: lib/number
fn root(x: f32) -> f32 {
  if (less(x, 0.0)) { return nan(); }
  return keep(x, sqrt(x));
}

fn logarithm(x: f32) -> f32 {
  if (less(x, 0.0)) { return nan(); }
  if (!truth(x)) { return -infinity(); }
  if (order(x) >= 0x7f800000) { return x; }
  return log(x);
}
