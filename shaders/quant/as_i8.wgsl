// What an int8 product stores: codes.
// needs: lib/requant lib/int8
alias quad = u32;

fn finish(v: f32) -> i32 { return requantise(v); }

fn finish4(v: vec4f) -> u32 {
  return word_of(vec4i(requantise(v.x), requantise(v.y), requantise(v.z), requantise(v.w)));
}
