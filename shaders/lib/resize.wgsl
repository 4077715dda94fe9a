// Planes of `size` resized to `out`; `scale` is how far apart in x neighbours of out lie. A launch
// has n items.
struct Params { n: u32, aligned: u32, pad0: u32, pad1: u32, size: vec2i, out: vec2i, scale: vec2f }
@group(1) @binding(0) var<uniform> params: Params;

// What an output sees along an axis: first * (1 - weight) + second * weight.
struct Tap { first: vec2i, second: vec2i, weight: vec2f }
