// f32 by its bits: WGSL lets a compiler assume that there is no NaN and no infinity, so what must
// know them asks here.
fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn nan() -> f32 {
  var bits = 0x7fc00000u; // a variable: WGSL refuses a constant NaN
  return bitcast<f32>(bits);
}

fn infinity() -> f32 {
  var bits = 0x7f800000u;
  return bitcast<f32>(bits);
}

// A whole number that sorts as x does, both zeros 0.
fn order(x: f32) -> i32 {
  let bits = bitcast<i32>(x);
  return select(bits, -(bits & 0x7fffffff), bits < 0);
}

fn less(a: f32, b: f32) -> bool { return order(a) < order(b) && !is_nan(a) && !is_nan(b); }

fn at_most(a: f32, b: f32) -> bool { return order(a) <= order(b) && !is_nan(a) && !is_nan(b); }

fn same(a: f32, b: f32) -> bool { return order(a) == order(b) && !is_nan(a) && !is_nan(b); }

fn truth(x: f32) -> bool { return (bitcast<u32>(x) << 1u) != 0u; }

// y, or x where x is NaN.
fn keep(x: f32, y: f32) -> f32 { return select(y, x, is_nan(x)); }

fn minimum(a: f32, b: f32) -> f32 { return keep(a, keep(b, select(b, a, less(a, b)))); }

fn maximum(a: f32, b: f32) -> f32 { return keep(a, keep(b, select(b, a, less(b, a)))); }

// Towards zero; what i32 cannot hold, NaN too, is -2^31, as on torch's x86.
fn whole(x: f32) -> i32 {
  if (is_nan(x) || (bitcast<u32>(x) & 0x7fffffffu) >= 0x4f000000u) { return -2147483647 - 1; }
  return i32(x);
}

// -1, 0 or 1, and 0 of NaN as torch has it.
fn sign_of(x: f32) -> f32 { return select(0.0, 1.0, less(0.0, x)) - select(0.0, 1.0, less(x, 0.0)); }
