// STEPS * 16 multiply-adds an invocation, from registers alone: what arithmetic gives. Two chains
// of four hide the latency; the sum keeps the compiler from leaving them out.
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
override STEPS: u32 = 1024u;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) at: vec3u) {
  let s = f32(at.x);
  var a = vec4f(s, s + 1.0, s + 2.0, s + 3.0);
  var b = a + x[0];
  let m = vec4f(0.999, 0.998, 0.997, 0.996);
  for (var i = 0u; i < STEPS; i++) {
    a = fma(a, m, b.yzwx);
    b = fma(b, m, a);
    a = fma(a, m, b.yzwx);
    b = fma(b, m, a);
  }
  y[at.x] = dot(a, b);
}
