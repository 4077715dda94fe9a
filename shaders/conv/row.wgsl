// store(group, m, n, sum_k left * right); a workgroup an output, its 64 lanes along k: few outputs of
// long sums on a GPU. Workgroup memory: a number a lane. Any sizes.
// needs: lib/conv lib/rows
@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let i = row_of(wid, groups, local);
  let n = i % params.n;
  let m = i / params.n % params.m;
  let group = min(i / params.n / params.m, params.groups - 1u);
  let p = place(group, n);
  var sum = 0.0;
  for (var k = local.x; k < params.k; k += LANES) {
    let at = split(k);
    sum += left(group, m, k, at) * right(p, at);
  }
  sum = row_sum(sum, local);
  if (local.x == 0u && i < params.groups * params.m * params.n) { store(group, m, n, sum); }
}
