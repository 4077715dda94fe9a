// out[m, n] = sum_k x[m, k] * weight(n, k) + bias[n]; a workgroup four columns of one row, its lanes
// strided along k, a tree at the end. For few rows on a GPU. k % 4 == 0.
// needs: lib/rows
struct Params { w: vec4u, m: u32, n: u32, k: u32, bias: u32 }
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
var<workgroup> sums: array<vec4f, LANES>;

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let cols = (params.n + 3u) / 4u;
  let i = min(row_of(wid, groups, local), params.m * cols - 1u);
  let row = i / cols;
  let col = i % cols * 4u;
  let last = params.n - 1u;
  var sum = vec4f();
  for (var k = local.x; k < params.k / 4u; k += LANES) {
    let v = x[row * (params.k / 4u) + k];
    sum += vec4f(
      dot(v, weight4(col, 4u * k)),
      dot(v, weight4(min(col + 1u, last), 4u * k)),
      dot(v, weight4(min(col + 2u, last), 4u * k)),
      dot(v, weight4(min(col + 3u, last), 4u * k)),
    );
  }
  sums[local.x] = sum;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (local.x < half) { sums[local.x] += sums[local.x + half]; }
    workgroupBarrier();
  }
  if (local.x >= 4u || col + local.x > last) { return; }
  var value = sums[0][local.x];
  if (params.bias == 1u) { value += bias[col + local.x]; }
  out[row * params.n + col + local.x] = value;
}
