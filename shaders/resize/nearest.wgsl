// Output o is the place floor(o * scale) of x, as torch has it: not the nearest to its middle.
// needs: lib/resize
fn tap(o: vec2i) -> Tap {
  let at = min(vec2i(floor(vec2f(o) * params.scale)), params.size - 1);
  return Tap(at, at, vec2f());
}

// No product: 0 * infinity is not 0.
fn blend(a: f32, b: f32, weight: f32) -> f32 { return a; }
