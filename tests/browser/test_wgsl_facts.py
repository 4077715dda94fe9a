"""The facts of WGSL and WebGPU the house rests on, asked of the browser itself.

`override` is not enough, so a linker writes constants and picks files; groups may hold params.
"""

import pytest

from driver.session import Session

TOOLS = """
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  const refused = async (work) => {
    device.pushErrorScope("validation");
    const thrown = await work().then(() => "", String);
    return ((await device.popErrorScope())?.message ?? "") + thrown;
  };
  const module = (code) => device.createShaderModule({ code });
  const pipeline = (code, constants = {}, layout = "auto") => device.createComputePipelineAsync({
    layout, compute: { module: module(code), constants } });
  const buffer = (size, usage) => device.createBuffer({ size, usage });
  const floats = async (pipeline, groups, size) => {
    const out = groups[0].out, staging = buffer(4 * size, 1 | 8);  // MAP_READ | COPY_DST
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    groups.forEach(({ group, offsets }, at) => pass.setBindGroup(at, group, offsets ?? []));
    pass.dispatchWorkgroups(1);
    pass.end();
    encoder.copyBufferToBuffer(out, 0, staging, 0, 4 * size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(1);
    return [...new Float32Array(staging.getMappedRange().slice(0))];
  };
"""
OUT = "@group(0) @binding(0) var<storage, read_write> out: array<f32>;"
COMPUTE = "@compute @workgroup_size(1)"


def ask(page: Session, body: str, *arguments):
    """Runs the body in the page, with a device of its own, which goes afterwards."""
    work = f"const work = async () => {{ {body} }};"
    end = "return work().finally(() => device.destroy());"
    source = f"async (given) => {{ {TOOLS} {work} {end} }}"
    return page.call(source, *arguments)


RUN = """
  const made = await pipeline(given[0], given[1]);
  const out = buffer(64, 4 | 8 | 128);  // COPY_SRC | COPY_DST | STORAGE
  const group = device.createBindGroup({
    layout: made.getBindGroupLayout(0), entries: [{ binding: 0, resource: { buffer: out } }] });
  return floats(made, [{ out, group }], 4);
"""
SIZED = """
override SIZE: u32 = 4;
var<workgroup> shared_: array<f32, SIZE * 2>;
@compute @workgroup_size(SIZE)
fn main(@builtin(local_invocation_index) i: u32) {
  shared_[2 * i] = f32(i);
  shared_[2 * i + 1] = 10.0;
  workgroupBarrier();
  if (i == 0) { for (var j = 0u; j < 2 * SIZE; j++) { out[0] += shared_[j]; } }
}
"""


@pytest.mark.parametrize(("size", "total"), [(4, 46), (7, 91), (64, 2656)])
def test_an_override_sizes_a_workgroup_array(page: Session, size: int, total: int):
    assert ask(page, RUN, OUT + SIZED, {"SIZE": size})[0] == total


REFUSE = "return refused(() => pipeline(given[0], given[1]));"


def function_scope(kind: str) -> str:
    return f"""{kind} SIZE: u32 = 4;
{OUT}
{COMPUTE} fn main() {{
  var tile: array<f32, SIZE>;
  tile[SIZE - 1] = 3.0;
  out[0] = tile[3];
}}"""


def test_an_override_cannot_size_a_function_scope_array(page: Session):
    """The same text with `const` is fine: hence the prelude."""
    text = ask(page, REFUSE, function_scope("override"), {})
    assert "array" in text and "override" in text
    assert ask(page, RUN, function_scope("const"), {})[0] == 3


def test_an_override_cannot_be_a_type(page: Session):
    code = f"override elem = f32;\n{OUT}\n{COMPUTE} fn main() {{ out[0] = 1; }}"
    text = ask(page, REFUSE, code, {})
    assert "f32" in text
    alias = f"alias elem = f32;\n{OUT}\n{COMPUTE} fn main() {{ out[0] = elem(2); }}"
    assert ask(page, RUN, alias, {})[0] == 2


def with_bias(use: str) -> str:
    return f"""override WITH_BIAS: bool = false;
{OUT}
@group(0) @binding(1) var<storage, read> bias: array<f32>;
{COMPUTE} fn main() {{ out[0] = 1.0; {use} }}"""


BINDINGS = """
  const made = await pipeline(given[0], { WITH_BIAS: 0 });
  const layout = made.getBindGroupLayout(0);
  const entry = (binding) => ({ binding, resource: { buffer: buffer(16, 128) } });
  const bind = (...bindings) => refused(async () =>
    device.createBindGroup({ layout, entries: bindings.map(entry) }));
  return [await bind(0), await bind(0, 1)];
"""


def test_static_use_keeps_a_binding(page: Session):
    """A use behind an override that is false still binds: only leaving the text out does not."""
    code = with_bias("if (WITH_BIAS) { out[0] += bias[0]; }")
    alone, both = ask(page, BINDINGS, code, {})
    assert alone and not both
    code = with_bias("out[0] += select(0.0, 1.0, WITH_BIAS);")
    alone, both = ask(page, BINDINGS, code, {})
    assert both and not alone


PARAMS = f"""
struct Params {{ a: vec4f, b: vec4u }}
{OUT}
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step_: array<vec4f, 16>;
{COMPUTE} fn main() {{ out[0] = params.a.x + f32(params.b.y) + step_[15].w; }}
"""
DYNAMIC = """
  const layoutOf = (entries) => device.createBindGroupLayout({ entries: entries.map(
    (made, binding) => ({ binding, visibility: 4, buffer: made })) });
  const storage = layoutOf([{ type: "storage" }]);
  const uniforms = layoutOf([{ type: "uniform", hasDynamicOffset: true }, { type: "uniform" }]);
  const layout = device.createPipelineLayout({ bindGroupLayouts: [storage, uniforms] });
  const made = await pipeline(given[0], {}, layout);
  const out = buffer(64, 4 | 8 | 128), params = buffer(1024, 8 | 64), step = buffer(256, 8 | 64);
  const group = (layout, ...resources) => device.createBindGroup({ layout,
    entries: resources.map((resource, binding) => ({ binding, resource })) });
  const first = group(storage, { buffer: out });
  const second = group(uniforms, { buffer: params, offset: 0, size: 256 }, { buffer: step });
  device.queue.writeBuffer(step, 252, new Float32Array([0.5]));
  const run = (at) =>
    floats(made, [{ out, group: first }, { group: second, offsets: [at] }], 1);
  const found = [];
  for (const [at, a, b] of [[0, 1, 10], [256, 2, 20], [768, 3, 30]]) {
    device.queue.writeBuffer(params, at, new Float32Array([a]));
    device.queue.writeBuffer(params, at + 20, new Uint32Array([b]));
  }
  for (const at of [0, 256, 768])
    found.push((await run(at))[0]);
  const bad = (at) => refused(() => run(at));
  return { found, unaligned: await bad(16), outside: await bad(1024) };
"""


def test_params_in_group_1_move_by_a_dynamic_offset(page: Session):
    """One bind group serves all dispatches; a wrong offset is an error, not other bytes."""
    got = ask(page, DYNAMIC, PARAMS)
    assert got["found"] == [11.5, 22.5, 33.5]
    assert "256" in got["unaligned"] and got["outside"]


PACKED = f"""
{OUT}
{COMPUTE} fn main() {{
  out[0] = f32(dot4I8Packed(0x80808080u, 0x80808080u));
  out[1] = f32(dot4I8Packed(0x807f01ffu, 0x7f80fe03u));
}}
"""


def test_packed_dot_products_are_there_and_our_device_says_so(page: Session):
    """Signed, whole: else the int8 tile would not run here with them, and no test would."""
    assert ask(page, RUN, PACKED, {})[:2] == [4 * 128 * 128, -2 * 128 * 127 - 2 - 3]
    asked = "import nibblegrad as ng\n(await ng.device('webgpu')).caps.packed_dot"
    assert page.evaluate_python(asked, None) is True
