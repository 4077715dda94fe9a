// store(group, m, n, sum_k left * right); one invocation an output, k in order. Any sizes.
// needs: lib/grid lib/conv
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.groups * params.m * params.n) { return; }
  let n = i % params.n;
  let m = i / params.n % params.m;
  let group = i / params.n / params.m;
  let p = place(group, n);
  var at = vec3u();
  var sum = 0.0;
  for (var k = 0u; k < params.k; k++) {
    sum += left(group, m, k, at) * right(p, at);
    at = next(at);
  }
  store(group, m, n, sum);
}
