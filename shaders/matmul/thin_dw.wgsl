// acc[n, k] += alpha * sum_m d_out[m, n] * x[m, k]: a workgroup 8 x 8 outputs, a thin weight has few,
// so its rows go to SLICES slices; an invocation 4 x 4 outputs of a slice, then a tree over slices.
// n % 4 == 0, k % 4 == 0.
struct Params { m: u32, n: u32, k: u32, alpha: f32 }
@group(0) @binding(0) var<storage, read_write> acc: array<vec4f>;
@group(0) @binding(1) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(2) var<storage, read> x: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;
override SLICES: u32 = 64u;
var<workgroup> sums: array<mat4x4f, 4u * SLICES>;

@compute @workgroup_size(4, SLICES)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let n4 = params.n / 4u;
  let k4 = params.k / 4u;
  let tile = wid.x + wid.y * groups.x;
  let across = (k4 + 1u) / 2u;
  let n = tile / across * 2u + local.x / 2u;
  let k = tile % across * 2u + local.x % 2u;
  let from_n = min(n, n4 - 1u);
  let from_k = min(k, k4 - 1u);
  var sum = mat4x4f();
  for (var m = local.y; m < params.m; m += SLICES) {
    let d = d_out[m * n4 + from_n];
    let v = x[m * k4 + from_k];
    sum += mat4x4f(d.x * v, d.y * v, d.z * v, d.w * v);
  }
  if (SLICES > 1u) {
    let at = 4u * local.y + local.x;
    sums[at] = sum;
    workgroupBarrier();
    for (var half = SLICES / 2u; half > 0u; half /= 2u) {
      if (local.y < half) { sums[at] += sums[at + 4u * half]; }
      workgroupBarrier();
    }
    sum = sums[local.x];
  }
  if (local.y > 0u || n >= n4 || k >= k4) { return; }
  for (var r = 0u; r < 4u; r++) { acc[(4u * n + r) * k4 + k] += params.alpha * sum[r]; }
}
