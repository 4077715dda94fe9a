// out = up to seven tensors one after the other along an axis; one invocation a word of out.
// `ends` are where each stops along the axis, `inner` the elements after it. Bits, never floats.
// needs: lib/grid lib/parts
struct Params { n: u32, inner: u32, ends: array<vec4u, 2> }
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read> c: array<u32>;
@group(0) @binding(3) var<storage, read> d: array<u32>;
@group(0) @binding(4) var<storage, read> e: array<u32>;
@group(0) @binding(5) var<storage, read> f: array<u32>;
@group(0) @binding(6) var<storage, read> g: array<u32>;
@group(0) @binding(7) var<storage, read_write> out: array<u32>;
@group(1) @binding(0) var<uniform> params: Params;

fn word_of(which: u32, at: u32) -> u32 {
  switch which {
    case 0u: { return a[at]; }
    case 1u: { return b[at]; }
    case 2u: { return c[at]; }
    case 3u: { return d[at]; }
    case 4u: { return e[at]; }
    case 5u: { return f[at]; }
    default: { return g[at]; }
  }
}

fn element(i: u32) -> u32 {
  let total = params.ends[1].z;
  let along = i / params.inner % total;
  var which = 0u;
  var start = 0u;
  while (along >= params.ends[which / 4u][which % 4u]) {
    start = params.ends[which / 4u][which % 4u];
    which++;
  }
  let length = params.ends[which / 4u][which % 4u] - start;
  let outer = i / params.inner / total;
  let at = (outer * length + along - start) * params.inner + i % params.inner;
  return part(word_of(which, at / PER), at);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let at = flat(gid, groups);
  if (at > (params.n - 1u) / PER) { return; }
  var word = 0u;
  for (var k = 0u; k < PER; k++) {
    let i = at * PER + k;
    if (i < params.n) { word |= element(i) << (8u * k); }
  }
  out[at] = word;
}
