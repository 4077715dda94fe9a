// y = x: what memory gives. One vec4 an invocation; the grid covers x exactly.
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) at: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = at.y * groups.x * 256u + at.x;
  y[i] = x[i];
}
