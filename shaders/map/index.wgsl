// out = f(i) of the flat index; f is linked in with how elements are stored (lib/out_*).
struct Params { attrs: vec4u, n: u32 }
@group(0) @binding(0) var<storage, read_write> out: array<cell>;
@group(1) @binding(0) var<uniform> params: Params;

fn value(i: u32) -> res { return f(i); }
