// out[part, m, k] = sum_n g[m, n] * weight(n, k) over the part's n, both rounded to f16, summed in f32;
// a workgroup WM x WN outputs by subgroup matrices. per % 32 == 0, k % 32 == 0.
// needs: lib/matrix
struct Params { w: vec4u, m: u32, n: u32, k: u32, per: u32 }
@group(0) @binding(0) var<storage, read> g: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
var<private> at_part: u32;

fn a_four(m: u32, n: u32) -> vec4f { return g[(min(m, params.m - 1u) * params.n + n) / 4u]; }

// Past the last column any will do.
fn b_eight(n: u32, k: u32) -> array<vec4f, 2> {
  return weight8(n, select(k % 32u, k, k < params.k));
}

fn emit(m: u32, k: u32, sum: f32) {
  if (m < params.m && k < params.k) { out[(at_part * params.m + m) * params.k + k] = sum; }
}

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) wid: vec3u,
        @builtin(num_workgroups) groups: vec3u) {
  let down = (params.m + WM - 1u) / WM;
  let across = (params.k + WN - 1u) / WN;
  let number = wid.x + wid.y * groups.x;
  let tile = vec2u(number % down * WM, number / down % across * WN);
  let part = number / down / across;
  if ((part + 1u) * params.per > params.n) { return; }
  at_part = part;
  var sums: Sums;
  multiply(&sums, lane, tile, part * params.per, (part + 1u) * params.per);
  if (all(tile + vec2u(WM, WN) <= vec2u(params.m, params.k))) {
    store_whole(&sums, lane, (part * params.m + tile.x) * params.k + tile.y, params.k);
  } else {
    store_each(&sums, lane, tile);
  }
}
