// out[n, k] = sum_m d_out[m, n] * x[m, k]; one invocation 4 x 4 outputs, an outer product a row.
// n % 4 == 0, k % 4 == 0.
// needs: lib/grid
struct Params { m: u32, n: u32, k: u32 }
@group(0) @binding(0) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  let n4 = params.n / 4u;
  let k4 = params.k / 4u;
  if (i >= n4 * k4) { return; }
  let n = i / k4;
  let k = i % k4;
  var a0 = vec4f();
  var a1 = vec4f();
  var a2 = vec4f();
  var a3 = vec4f();
  for (var m = 0u; m < params.m; m++) {
    let d = d_out[m * n4 + n];
    let v = x[m * k4 + k];
    a0 += d.x * v;
    a1 += d.y * v;
    a2 += d.z * v;
    a3 += d.w * v;
  }
  let at = 4u * n * k4 + k;
  out[at] = a0;
  out[at + k4] = a1;
  out[at + 2u * k4] = a2;
  out[at + 3u * k4] = a3;
}
