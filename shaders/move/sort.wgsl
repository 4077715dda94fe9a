// out = x in order along a line, places = where each element was; one invocation an element, which
// counts those of its line that come before it. `key` orders bits, NaN above all. Any size.
// needs: lib/grid
struct Params { n: u32, terms: u32, apart: u32, descending: u32 }
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = flat(gid, groups);
  if (i >= params.n) { return; }
  let place = i / params.apart % params.terms;
  let start = i - place * params.apart;
  let mine = key(x[i]);
  var before = 0u;
  for (var j = 0u; j < params.terms; j++) {
    let other = key(x[start + j * params.apart]);
    let beats = select((other < mine), (other > mine), params.descending == 1u);
    before += select(0u, 1u, beats || (other == mine && j < place));
  }
  out[start + before * params.apart] = x[i];
  places[start + before * params.apart] = place;
}
