// store(group, m, n, sum_k left * right); one invocation 4 m x 4 n: each element read serves four
// outputs. No workgroup memory. Any sizes: what lies past an edge repeats the last.
// needs: lib/grid lib/conv
fn keep_row(group: u32, m: u32, n: u32, sum: vec4f) {
  if (m >= params.m) { return; }
  for (var c = 0u; c < min(4u, params.n - n); c++) { store(group, m, n + c, sum[c]); }
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let across = (params.n + 3u) / 4u;
  let down = (params.m + 3u) / 4u;
  let group = i / across / down;
  if (group >= params.groups) { return; }
  let n = i % across * 4u;
  let m = i / across % down * 4u;
  let m1 = min(m + 1u, params.m - 1u);
  let m2 = min(m + 2u, params.m - 1u);
  let m3 = min(m + 3u, params.m - 1u);
  let p0 = place(group, n);
  let p1 = place(group, min(n + 1u, params.n - 1u));
  let p2 = place(group, min(n + 2u, params.n - 1u));
  let p3 = place(group, min(n + 3u, params.n - 1u));
  var s0 = vec4f();
  var s1 = vec4f();
  var s2 = vec4f();
  var s3 = vec4f();
  var at = vec3u();
  for (var k = 0u; k < params.k; k++) {
    let v = vec4f(right(p0, at), right(p1, at), right(p2, at), right(p3, at));
    s0 += left(group, m, k, at) * v;
    s1 += left(group, m1, k, at) * v;
    s2 += left(group, m2, k, at) * v;
    s3 += left(group, m3, k, at) * v;
    at = next(at);
  }
  keep_row(group, m, n, s0);
  keep_row(group, m + 1u, n, s1);
  keep_row(group, m + 2u, n, s2);
  keep_row(group, m + 3u, n, s3);
}
