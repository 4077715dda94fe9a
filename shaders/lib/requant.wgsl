// A real number as a code: clamp(rint(v * inv) + zero, low, high), NaN 0, as torch has it. The sum is
// f32's, so that what overflows i32 clamps. A relu before it is a `low` of no less than `zero`.
// needs: lib/number
struct To { inv: f32, zero: i32, low: i32, high: i32 }

fn requantise(v: f32) -> i32 {
  if (is_nan(v)) { return 0; }
  let q = round(v * params.to.inv) + f32(params.to.zero);
  return i32(min(max(q, f32(params.to.low)), f32(params.to.high)));
}
