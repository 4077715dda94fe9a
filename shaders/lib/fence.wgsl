// A product as IEEE 754 rounds it: a compiler that knew it might fuse it with the sum that follows, so
// it passes through an xor with params.none, which is 0 and which no compiler knows.
fn fence(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ params.none); }

fn fence4(x: vec4f) -> vec4f { return bitcast<vec4f>(bitcast<vec4u>(x) ^ vec4u(params.none)); }
