// Windows of `kernel` places `dilation` apart every `stride`, the first at -padding.
// needs: lib/pool

// Output o's rows and columns: the first two, and the two past the last.
fn window(o: vec2i) -> vec4i {
  let low = o * params.stride - params.padding;
  return vec4i(max(low, vec2i()), min(low + params.kernel, params.size));
}

// The outputs whose windows span the place, likewise.
fn reached(at: vec2i) -> vec4i {
  let far = at + params.padding;
  let span = (params.kernel - 1) * params.dilation;
  let low = (max(far - span, vec2i()) + params.stride - 1) / params.stride;
  return vec4i(low, min(far / params.stride + 1, params.out));
}

// What output o's sum is divided by.
fn count(o: vec2i) -> f32 {
  if (params.divisor != 0) { return f32(params.divisor); }
  let low = o * params.stride - params.padding;
  let high = min(low + params.kernel, params.size + params.padding);
  let inside = min(high, params.size) - max(low, vec2i());
  let sides = select(inside, high - low, params.padded == 1u);
  return f32(sides.x) * f32(sides.y);
}
