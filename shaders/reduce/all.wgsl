// out = sum of f(x) over every element, f linked in; one workgroup, lanes strided, tree at the end.
// needs: lib/rows
struct Params { n: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u) {
  var sum = vec4f(); // four sums, so that four reads are under way at once
  for (var i = local.x; i < params.n; i += 4u * LANES) {
    for (var j = 0u; j < 4u; j++) {
      let at = i + j * LANES;
      if (at < params.n) { sum[j] += f(x[at]); }
    }
  }
  let total = row_sum(sum.x + sum.y + sum.z + sum.w, local);
  if (local.x == 0u) { out[0] = total; }
}
