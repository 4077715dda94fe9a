// to.flat[start : start + n] = x.flat; one invocation a word of `to` that is touched, whose other
// bytes stay. Bits, never floats. Any size.
// needs: lib/grid lib/parts
struct Params { start: u32, n: u32 }
@group(0) @binding(0) var<storage, read_write> to: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let at = params.start / PER + flat(gid, groups);
  let end = params.start + params.n;
  if (at * PER >= end) { return; }
  var word = to[at];
  for (var b = 0u; b < PER; b++) {
    let i = at * PER + b;
    if (i < params.start || i >= end) { continue; }
    let from_ = i - params.start;
    word = insertBits(word, part(x[from_ / PER], from_), 8u * b, 32u / PER);
  }
  to[at] = word;
}
