// out[m, n] = sum_k x[m, k] * weight(n, k) + bias[n], both rounded to f16, summed in f32; a workgroup
// WM x WN outputs by subgroup matrices. k % 32 == 0.
// needs: lib/matrix
struct Params { w: vec4u, m: u32, n: u32, k: u32, bias: u32 }
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

fn a_four(m: u32, k: u32) -> vec4f { return x[(min(m, params.m - 1u) * params.k + k) / 4u]; }

fn b_eight(n: u32, k: u32) -> array<vec4f, 2> { return weight8(min(n, params.n - 1u), k); }

fn emit(m: u32, n: u32, sum: f32) {
  if (m >= params.m || n >= params.n) { return; }
  var value = sum;
  if (params.bias == 1u) { value += bias[n]; }
  out[m * params.n + n] = value;
}

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let down = (params.m + WM - 1u) / WM;
  let number = wid.x + wid.y * groups.x;
  let tile = vec2u(number % down * WM, number / down * WN); // neighbours share the weight's rows
  var sums: Sums;
  multiply(&sums, lane, tile, 0u, params.k);
  let whole = all(tile + vec2u(WM, WN) <= vec2u(params.m, params.n));
  if (whole && params.bias == 0u && params.n % 4u == 0u) {
    store_whole(&sums, lane, tile.x * params.n + tile.y, params.n);
  } else {
    store_each(&sums, lane, tile);
  }
}
