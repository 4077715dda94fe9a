// Stores the kernel's value(i), a whole number, as a byte for each of params.n elements; one invocation
// a word of four, whose bytes past the end are 0.
// needs: lib/grid
alias cell = u32;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let first = 4u * flat(gid, groups);
  if (first >= params.n) { return; }
  var packed = 0u;
  for (var k = 0u; k < min(4u, params.n - first); k++) {
    packed |= (bitcast<u32>(value(first + k)) & 255u) << (8u * k);
  }
  out[first / 4u] = packed;
}
