// What becomes of a convolution's sum before it is stored: it is held within two bounds; NaN stays.
// needs: lib/number
fn finish(value: f32) -> f32 { return minimum(maximum(value, params.low), params.high); }
