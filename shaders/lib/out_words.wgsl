// Stores value(i), the kernel's, into each of params.n four-byte elements; one invocation an element.
// needs: lib/grid
alias cell = res;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i < params.n) { out[i] = value(i); }
}
