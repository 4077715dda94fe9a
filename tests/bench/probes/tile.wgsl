// c = a @ b, f32, all N x N: the plain tiled product that others are measured against. 128 x 128 of
// c a workgroup of 256, 8 x 8 an invocation, k by 16 through workgroup memory (a turned, 16 KiB in
// all). N is a multiple of 128.
@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4f>;
override N: u32 = 1024u;
var<workgroup> left: array<vec4f, 512>;  // [k][row / 4]
var<workgroup> right: array<vec4f, 512>; // [k][column / 4]

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let n4 = N / 4u;
  let column = lane % 16u;
  let row = lane / 16u;
  var s0a = vec4f();
  var s0b = vec4f();
  var s1a = vec4f();
  var s1b = vec4f();
  var s2a = vec4f();
  var s2b = vec4f();
  var s3a = vec4f();
  var s3b = vec4f();
  var s4a = vec4f();
  var s4b = vec4f();
  var s5a = vec4f();
  var s5b = vec4f();
  var s6a = vec4f();
  var s6b = vec4f();
  var s7a = vec4f();
  var s7b = vec4f();
  for (var k = 0u; k < N; k += 16u) {
    // rows 4 * (lane / 4 % 32) .. + 3, four of k: a 4 x 4 block, turned
    if (lane < 128u) {
      let r = lane / 4u;
      let q = lane % 4u;
      let at = (group.y * 128u + 4u * r) * n4 + k / 4u + q;
      let block = transpose(mat4x4f(a[at], a[at + n4], a[at + 2u * n4], a[at + 3u * n4]));
      for (var j = 0u; j < 4u; j++) {
        left[(4u * q + j) * 32u + r] = block[j];
      }
    } else {
      for (var i = lane - 128u; i < 512u; i += 128u) {
        right[i] = b[(k + i / 32u) * n4 + group.x * 32u + i % 32u];
      }
    }
    workgroupBarrier();
    for (var j = 0u; j < 16u; j++) {
      let b0 = right[j * 32u + column];
      let b1 = right[j * 32u + 16u + column];
      let x = left[j * 32u + row];
      let y = left[j * 32u + 16u + row];
      s0a = fma(vec4f(x.x), b0, s0a);
      s0b = fma(vec4f(x.x), b1, s0b);
      s1a = fma(vec4f(x.y), b0, s1a);
      s1b = fma(vec4f(x.y), b1, s1b);
      s2a = fma(vec4f(x.z), b0, s2a);
      s2b = fma(vec4f(x.z), b1, s2b);
      s3a = fma(vec4f(x.w), b0, s3a);
      s3b = fma(vec4f(x.w), b1, s3b);
      s4a = fma(vec4f(y.x), b0, s4a);
      s4b = fma(vec4f(y.x), b1, s4b);
      s5a = fma(vec4f(y.y), b0, s5a);
      s5b = fma(vec4f(y.y), b1, s5b);
      s6a = fma(vec4f(y.z), b0, s6a);
      s6b = fma(vec4f(y.z), b1, s6b);
      s7a = fma(vec4f(y.w), b0, s7a);
      s7b = fma(vec4f(y.w), b1, s7b);
    }
    workgroupBarrier();
  }
  let at = (group.y * 128u + 4u * row) * n4 + group.x * 32u + column;
  c[at] = s0a;
  c[at + 16u] = s0b;
  c[at + 1u * n4] = s1a;
  c[at + 1u * n4 + 16u] = s1b;
  c[at + 2u * n4] = s2a;
  c[at + 2u * n4 + 16u] = s2b;
  c[at + 3u * n4] = s3a;
  c[at + 3u * n4 + 16u] = s3b;
  c[at + 64u * n4] = s4a;
  c[at + 64u * n4 + 16u] = s4b;
  c[at + 65u * n4] = s5a;
  c[at + 65u * n4 + 16u] = s5b;
  c[at + 66u * n4] = s6a;
  c[at + 66u * n4 + 16u] = s6b;
  c[at + 67u * n4] = s7a;
  c[at + 67u * n4 + 16u] = s7b;
}
