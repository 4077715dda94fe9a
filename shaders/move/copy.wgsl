// out[i] = element(i), which a linked unit reads from x; one invocation a word of out.
// Bits, never floats: a NaN's payload and a small integer survive. Any size.
// needs: lib/grid lib/parts
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let at = flat(gid, groups);
  if (at > (params.n - 1u) / PER) { return; }
  var word = 0u;
  for (var b = 0u; b < PER; b++) {
    let i = at * PER + b;
    if (i < params.n) { word |= element(i) << (8u * b); }
  }
  out[at] = word;
}
