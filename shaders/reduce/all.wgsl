// out = sum of f(x) over every element, f linked in; one workgroup, lanes strided, tree at the end.
// needs: lib/rows
struct Params { n: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u) {
  var sum = 0.0;
  for (var i = local.x; i < params.n; i += LANES) { sum += f(x[i]); }
  let total = row_sum(sum, local);
  if (local.x == 0u) { out[0] = total; }
}
