// What becomes of a convolution's sum before it is stored: nothing.
fn finish(value: f32) -> f32 { return value; }
