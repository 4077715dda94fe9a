"""numpy is optional in the page: with it arrays go in and out, without it an error says so."""

import tiny

ARRAYS = """
import numpy as np
import nibblegrad as ng

await ng.device("webgpu")
grid = np.arange(24, dtype=np.float32).reshape(4, 6) - 7.25
given = {
    "f32": grid, "f64": grid.astype(np.float64), "f16": grid.astype(np.float16),
    "i32": grid.astype(np.int32), "i64": grid.astype(np.int64), "u8": np.arange(7, dtype=np.uint8),
    "i8": np.arange(-3, 2, dtype=np.int8), "u32": np.array([0, 2**32 - 1], np.uint32),
    "transposed": grid.T, "strided": grid[::2, 1::3], "backwards": grid[::-1],
    "broadcast": np.broadcast_to(grid[0], (3, 6)),
    "read-only": np.frombuffer(b"12345678", np.int32),
    "0-d": np.array(2.5, np.float32), "scalar": np.float32(2.5),
    "empty": np.zeros((0, 3), np.float32), "empty ints": np.zeros((2, 0), np.int64),
}
answer = {}
for name, a in given.items():
    t = ng.tensor(a)
    back = await t.numpy()
    same = np.array_equal(back, a) and back.shape == np.shape(a)
    answer[name] = [t.dtype.name, str(back.dtype), bool(same), await t.tolist() == back.tolist()]
out = await (ng.tensor(grid.T) * 2.0).numpy()
out += 1  # the array is the caller's: it may be written to
answer["computed"] = bool(np.array_equal(out, grid.T * 2 + 1))
answer["numpy"] = np.__version__
answer
"""
KINDS = {"f64": "f32", "f16": "f32", "i32": "i32", "i64": "i32", "u8": "u8", "i8": "i8",
         "u32": "u32", "read-only": "i32", "empty ints": "i32"}  # fmt: skip
NUMPY = {"f32": "float32", "i32": "int32", "u32": "uint32", "u8": "uint8", "i8": "int8"}
ERRORS = """
import nibblegrad as ng
await ng.device("webgpu")
texts = []
for make in data:
    try:
        exec(make)
    except ng.DTypeError as error:
        texts.append(str(error))
texts
"""
ABSENT = """
import nibblegrad as ng
await ng.device("webgpu")
t = ng.tensor([1.5, 2.5])
try:
    text = str(await t.numpy())
except ng.DeviceError as error:
    text = str(error)
try:
    import numpy
    found = True
except ImportError:
    found = False
{"found": found, "text": text, "list": await t.tolist()}
"""
TRAIN = """
import nibblegrad as ng
model = await ng.load(data["file"])
ng.tune.lora(model, r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"])
pair = (data["ids"], [-100] * 4 + data["ids"][4:])
trainer = ng.tune.Trainer(model, [pair], learning_rate=1e-2, max_steps=5)
losses = [step.loss async for step in trainer]
logits = await model(data["ids"]).numpy()
{"losses": losses, "shape": logits.shape, "finite": bool((abs(logits) < 1e4).all())}
"""


def test_arrays_go_in_and_out(page_numpy):
    got = page_numpy.evaluate_python(ARRAYS)
    assert got.pop("numpy") == "2.0.2"
    assert got.pop("computed")
    for name, (kind, numpy, same, listed) in got.items():
        assert kind == KINDS.get(name, "f32"), name
        assert numpy == NUMPY[kind], name
        assert same and listed, name


def test_other_dtypes_are_refused_by_name(page_numpy):
    makes = ["import numpy; ng.tensor(numpy.zeros(2, complex))",
             "import numpy; ng.tensor(numpy.array(['a']))"]  # fmt: skip
    texts = page_numpy.evaluate_python(ERRORS, makes)
    assert texts == [f"tensor: numpy dtype {name} has no dtype here; cast to float32"
                     for name in ("complex128", "<U1")]  # fmt: skip


def test_a_lora_run_on_the_oldest_pyodide(page_numpy, tmp_path):
    path = tmp_path / "tiny-numpy.gguf"
    tiny.gguf_file(path, tiny.Tiny(), "Q4_1")
    data = {"file": page_numpy.add_file(path), "ids": [1, 40, 7, 99, 150, 3, 77, 8, 201, 5]}
    got = page_numpy.evaluate_python(TRAIN, data)
    assert got["losses"][-1] < 0.9 * got["losses"][0]
    assert got["shape"] == [10, 320] and got["finite"]


def test_without_numpy_the_error_names_tolist(page):
    got = page.evaluate_python(ABSENT)
    assert got["found"] is False
    assert got["text"] == "numpy: it is not loaded here; use `await t.tolist()`"
    assert got["list"] == [1.5, 2.5]
