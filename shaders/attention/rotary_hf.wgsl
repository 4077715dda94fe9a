// out[i] = a cos[i] - b sin[i], out[i + r/2] = b cos[i + r/2] + a sin[i + r/2], or the transpose of
// that; a = x[i], b = x[i + r/2]; one invocation a pair. The tables are r wide; past them heads stay.
// needs: lib/grid lib/step
struct Params { pairs: u32, t: u32, h: u32, e: u32, pos: u32, pos_slot: u32, inverse: u32, r: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> cos_table: array<f32>;
@group(0) @binding(2) var<storage, read> sin_table: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.pairs) { return; }
  let head = i / (params.e / 2u);
  let j = i % (params.e / 2u);
  let half = params.r / 2u;
  if (j >= half) {
    for (var c = 0u; c < 2u; c++) { out[head * params.e + 2u * j + c] = x[head * params.e + 2u * j + c]; }
    return;
  }
  let row = head / params.h % params.t + moving(params.pos, params.pos_slot);
  let low = head * params.e + j;
  let high = low + half;
  let at = row * params.r + j;
  let a = x[low];
  let b = x[high];
  if (params.inverse == 1u) {
    out[low] = a * cos_table[at] + b * sin_table[at + half];
    out[high] = b * cos_table[at + half] - a * sin_table[at];
  } else {
    out[low] = a * cos_table[at] - b * sin_table[at];
    out[high] = b * cos_table[at + half] + a * sin_table[at + half];
  }
}
