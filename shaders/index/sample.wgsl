// One draw from softmax(logits / temperature) cut by top_k, then top_p. One workgroup: the cuts are
// found by building the largest threshold bit by bit over order-preserving keys, so nothing is sorted.
// needs: lib/rows lib/step lib/random
struct Params {
  v: u32, top_k: u32, inv_temperature: f32, top_p: f32,
  seed: u32, stream: u32, stream_slot: u32,
}
@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<i32>;
@group(1) @binding(0) var<uniform> params: Params;
var<workgroup> chunk_mass: array<f32, LANES>;

// A u32 that orders as the float does.
fn key(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

fn z(i: u32) -> f32 {
  return logits[i] * params.inv_temperature;
}

// How much of the kind asked for lies at or above a threshold: tokens, or their exp(z - top).
fn above(threshold: u32, floor: u32, top: f32, mass: bool, local: vec3u) -> f32 {
  var sum = 0.0;
  for (var i = local.x; i < params.v; i += LANES) {
    let k = key(z(i));
    if (k >= max(threshold, floor)) { sum += select(1.0, exp(z(i) - top), mass); }
  }
  return row_sum(sum, local);
}

// The largest key with at least `wanted` at or above it.
fn cut(wanted: f32, floor: u32, top: f32, mass: bool, local: vec3u) -> u32 {
  var found = 0u;
  for (var bit = 0x80000000u; bit != 0u; bit >>= 1u) {
    if (above(found | bit, floor, top, mass, local) >= wanted) { found |= bit; }
  }
  return max(found, floor);
}

@compute @workgroup_size(LANES, ROWS)
fn main(@builtin(local_invocation_id) local: vec3u) {
  var best = -3.4e38;
  for (var i = local.x; i < params.v; i += LANES) { best = max(best, z(i)); }
  let top = row_max(best, local);
  var floor = 0u;
  if (params.top_k > 0u && params.top_k < params.v) {
    floor = cut(f32(params.top_k), 0u, top, false, local);
  }
  if (params.top_p < 1.0) {
    floor = cut(params.top_p * above(floor, floor, top, true, local), floor, top, true, local);
  }
  let share = (params.v + LANES - 1u) / LANES;
  let first = min(local.x * share, params.v);
  let end = min(first + share, params.v);
  var mass = 0.0;
  for (var i = first; i < end; i++) { mass += select(0.0, exp(z(i) - top), key(z(i)) >= floor); }
  chunk_mass[local.x] = mass;
  workgroupBarrier();
  if (local.x == 0u) { out[0] = i32(draw(floor, top, share)); }
}

// The index where the running mass first passes a uniform share of the whole.
fn draw(floor: u32, top: f32, share: u32) -> u32 {
  var total = 0.0;
  for (var lane = 0u; lane < LANES; lane++) { total += chunk_mass[lane]; }
  var left = total * uniform01(0u, params.seed, moving(params.stream, params.stream_slot));
  var lane = 0u;
  for (; lane < LANES - 1u; lane++) {
    if (left < chunk_mass[lane]) { break; }
    left -= chunk_mass[lane];
  }
  var chosen = 0u;
  for (var i = lane * share; i < params.v; i++) {
    if (key(z(i)) < floor) { continue; }
    chosen = i;
    left -= exp(z(i) - top);
    if (left < 0.0) { break; }
  }
  return chosen;
}
