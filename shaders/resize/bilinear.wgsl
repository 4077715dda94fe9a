// Output o lies between two places of x: at o * scale if the corners are aligned, else their middles
// are: (o + 0.5) * scale - 0.5, from 0.
// needs: lib/resize
fn tap(o: vec2i) -> Tap {
  let middle = max((vec2f(o) + 0.5) * params.scale - 0.5, vec2f());
  var at = select(middle, vec2f(o) * params.scale, params.aligned == 1u);
  at = select(at, vec2f(o), params.size == params.out);
  let first = min(vec2i(at), params.size - 1);
  let weight = clamp(at - vec2f(first), vec2f(), vec2f(1.0));
  let second = select(min(first + 1, params.size - 1), first, params.size == params.out);
  return Tap(first, second, weight);
}

fn blend(a: f32, b: f32, weight: f32) -> f32 { return a * (1.0 - weight) + b * weight; }
