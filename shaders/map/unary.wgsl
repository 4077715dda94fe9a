// out = f(x), f linked in with how elements are read and stored (lib/in_*, lib/out_*).
struct Params { attrs: vec4u, n: u32, same: u32 }
@group(0) @binding(0) var<storage, read> x: array<word>;
@group(0) @binding(1) var<storage, read_write> out: array<cell>;
@group(1) @binding(0) var<uniform> params: Params;

fn value(i: u32) -> res { return f(pick(x[slot(i)], i)); }
