// out = the sums of x's elements and all before them along a line; one invocation a line, in order.
// needs: lib/grid
struct Params { lines: u32, terms: u32, apart: u32 }
@group(0) @binding(0) var<storage, read> x: array<elem>;
@group(0) @binding(1) var<storage, read_write> out: array<elem>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let line = flat(gid, groups);
  if (line >= params.lines) { return; }
  var at = line / params.apart * params.terms * params.apart + line % params.apart;
  var sum = elem(0);
  for (var j = 0u; j < params.terms; j++) {
    sum += x[at];
    out[at] = sum;
    at += params.apart;
  }
}
