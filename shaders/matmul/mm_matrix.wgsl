// out[b, m, n] = finish(sum_k a[b, m, k] * b[b, k, n]), both rounded to f16, summed in f32; a workgroup
// WM x WN outputs by subgroup matrices. k % 4 == 0, n % 4 == 0; PLAIN = 1 where finish does nothing.
// needs: lib/matrix
struct Params {
  batch: u32, m: u32, n: u32, k: u32,
  alpha: f32, beta: f32, stride_row: u32, stride_col: u32,
}
@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
var<private> batch: u32;
const GAP = 4u;

fn pair_at(p: u32) -> u32 { return p * 8u; }

fn a_four(m: u32, k: u32) -> vec4f {
  let row = batch * params.m + min(m, params.m - 1u);
  return select(vec4f(), a[(row * params.k + min(k, params.k - 4u)) / 4u], k < params.k);
}

fn b_four(k: u32, n: u32) -> vec4f {
  let row = batch * params.k + min(k, params.k - 1u);
  return select(vec4f(), b[(row * params.n + min(n, params.n - 4u)) / 4u], k < params.k);
}

fn b_eight(k: u32, n: u32) -> array<vec4f, 2> { return array(b_four(k, n), b_four(k, n + 4u)); }

fn emit(m: u32, n: u32, sum: f32) {
  if (m < params.m && n < params.n) {
    out[(batch * params.m + m) * params.n + n] = finish(sum, m, n);
  }
}

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let down = (params.m + WM - 1u) / WM;
  let across = (params.n + WN - 1u) / WN;
  let number = wid.x + wid.y * groups.x;
  if (number / down / across >= params.batch) { return; }
  batch = number / down / across;
  let tile = vec2u(number % down * WM, number / down % across * WN);
  var sums: Sums;
  multiply(&sums, lane, tile, 0u, params.k);
  if (PLAIN == 1u && all(tile + vec2u(WM, WN) <= vec2u(params.m, params.n))) {
    store_whole(&sums, lane, (batch * params.m + tile.x) * params.n + tile.y, params.n);
  } else {
    store_each(&sums, lane, tile);
  }
}
