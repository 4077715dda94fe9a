// PCG-RXS-M-XS-32 (Jarzynski and Olano, JCGT 2020): element i of a stream is a hash of seed, stream, i.
fn pcg(x: u32) -> u32 {
  let state = x * 747796405u + 2891336453u;
  let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
  return (word >> 22u) ^ word;
}

// [0, 1) in steps of 2^-24.
fn uniform01(i: u32, seed: u32, stream: u32) -> f32 {
  return f32(pcg(i + pcg(stream + pcg(seed))) >> 8u) * 5.9604644775390625e-8;
}
