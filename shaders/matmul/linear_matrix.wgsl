// out[m, n] = sum_k x[m, k] * weight(n, k) + bias[n], both rounded to f16, summed in f32; a workgroup
// WM x WN outputs by subgroup matrices. The next slices are read while this one's are multiplied.
// k % 32 == 0.
// needs: lib/matrix
struct Params { w: vec4u, m: u32, n: u32, k: u32, bias: u32 }
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
const XS = WM * 8u / LANES; // fours of x an invocation fetches
const WS = WN * 4u / LANES; // and eights of the weight
struct Fetched { x: array<vec4f, XS>, w: array<array<vec4f, 2>, WS> }

fn fetch(lane: u32, tile: vec2u, k: u32) -> Fetched {
  var got: Fetched;
  for (var i = 0u; i < XS; i++) {
    let e = lane + i * LANES;
    got.x[i] = x[min(tile.x + e / 8u, params.m - 1u) * (params.k / 4u) + k / 4u + e % 8u];
  }
  for (var i = 0u; i < WS; i++) {
    let e = lane + i * LANES;
    got.w[i] = weight8(min(tile.y + e / 4u, params.n - 1u), k + pair_at(e % 4u));
  }
  return got;
}

fn stash(lane: u32, got: ptr<function, Fetched>) {
  for (var i = 0u; i < XS; i++) {
    let e = lane + i * LANES;
    put_a(e / 8u * A_PITCH + e % 8u, (*got).x[i]);
  }
  for (var i = 0u; i < WS; i++) {
    let e = lane + i * LANES;
    let at = e / 4u * B_PITCH + pair_at(e % 4u) / 4u;
    put_b(at, (*got).w[i][0]);
    put_b(at + GAP / 4u, (*got).w[i][1]);
  }
}

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
  var next = fetch(lane, tile, 0u);
  for (var k = 0u; k < params.k; k += DEPTH) {
    stash(lane, &next);
    workgroupBarrier();
    if (k + DEPTH < params.k) { next = fetch(lane, tile, k + DEPTH); }
    add_slices(&sums, lane);
    workgroupBarrier();
  }
  let whole = all(tile + vec2u(WM, WN) <= vec2u(params.m, params.n));
  if (whole && params.bias == 0u && params.n % 4u == 0u) {
    store_whole(&sums, lane, tile.x * params.n + tile.y, params.n);
  } else {
    store_each(&sums, lane, tile);
  }
}
