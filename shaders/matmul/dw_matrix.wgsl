// out[n, k] = sum_m d_out[m, n] * x[m, k], both rounded to f16, summed in f32; a workgroup WM x WN
// outputs by subgroup matrices. n % 4 == 0, k % 4 == 0.
// needs: lib/matrix
struct Params { m: u32, n: u32, k: u32 }
@group(0) @binding(0) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
const GAP = 4u;

fn pair_at(p: u32) -> u32 { return p * 8u; }

fn a_four(m: u32, n: u32) -> vec4f {
  let v = d_out[(min(m, params.m - 1u) * params.n + min(n, params.n - 4u)) / 4u];
  return select(vec4f(), v, m < params.m);
}

fn b_four(m: u32, k: u32) -> vec4f {
  let v = x[(min(m, params.m - 1u) * params.k + min(k, params.k - 4u)) / 4u];
  return select(vec4f(), v, m < params.m); // not 0 * x: x may be infinite
}

fn b_eight(m: u32, k: u32) -> array<vec4f, 2> { return array(b_four(m, k), b_four(m, k + 4u)); }

fn emit(n: u32, k: u32, sum: f32) {
  if (n < params.n && k < params.k) { out[n * params.k + k] = sum; }
}

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let down = (params.n + WM - 1u) / WM;
  let number = wid.x + wid.y * groups.x;
  let tile = vec2u(number % down * WM, number / down * WN);
  var sums: Sums;
  multiply(&sums, lane, tile, 0u, params.m);
  if (all(tile + vec2u(WM, WN) <= vec2u(params.n, params.k))) {
    store_whole(&sums, lane, tile.x * params.k + tile.y, params.k);
  } else {
    store_each(&sums, lane, tile);
  }
}
