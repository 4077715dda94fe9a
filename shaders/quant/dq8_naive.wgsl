// out[m, n] = scale[m] * sum_k codes(input[m, k]) * weight(n, k) + bias[n]; one invocation an output.
// Any sizes.
// needs: lib/grid
@group(0) @binding(0) var<storage, read> input: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.m * params.n) { return; }
  let row = row_at(i / params.n);
  let col = i % params.n;
  var sum = 0.0;
  for (var k = 0u; k < params.k; k++) {
    sum += codes(vec4f(input[row.at + k]), row).x * weight(col, k);
  }
  store(i / params.n, col, sum, row);
}
