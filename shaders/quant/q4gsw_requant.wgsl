// Codes of f32 latents under group scales: clamp(round(ratio(latent, scale)), -8, 7) + 8, packed even
// k low, `ratio` linked in; one invocation a u32 word of eight codes. Rows need not be word-aligned.
// needs: lib/grid lib/divide
struct Params { n: u32, k: u32, p: u32, group: u32, stride: u32, words: u32 }
@group(0) @binding(0) var<storage, read> latent: array<f32>;
@group(0) @binding(1) var<storage, read> scales: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@group(1) @binding(0) var<uniform> params: Params;

fn code(row: u32, k: u32) -> u32 {
  if (row >= params.n || k >= params.k) { return 0u; }
  let scale = scales[k / params.group * params.stride + row];
  if (scale == 0.0) { return 8u; }
  return u32(clamp(round(ratio(latent[row * params.k + k], scale)), -8.0, 7.0) + 8.0);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.words) { return; }
  var word = 0u;
  for (var b = 0u; b < 4u; b++) {
    let byte = 4u * i + b;
    let row = byte / params.p;
    let k = byte % params.p * 2u;
    word |= (code(row, k) | (code(row, k + 1u) << 4u)) << (8u * b);
  }
  out[i] = word;
}
