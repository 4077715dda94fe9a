// The kernel's `input` at a place of the image that begins at `start`; zero outside.
// needs: lib/grid_sample
fn texel(start: u32, y: f32, x: f32) -> f32 {
  if (!within(y, x)) { return 0.0; }
  return input[start + offset(y, x)];
}
