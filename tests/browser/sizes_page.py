"""Runs in the page: more workgroups than a grid's dimension holds, one launch of each kernel
family, read at `data` (fractions of its length) and where the grid folds; and every rank.

The answer: of each what was read and what is right.
"""

import struct

import nibblegrad as ng
from nibblegrad.ops.op import CATALOGUE

ops = ng.ops
GROUPS = 65535
N = 64 * GROUPS + 17  # an element an invocation, 64 a workgroup
ROWS = 16 * GROUPS + 3  # rows of norms, 16 a workgroup
BYTES = 4 * N  # truth values, four an invocation


def tables(x):
    """Kernel family: (a tensor, what its element i is)."""
    whole = ops.arange(0, N, dtype="i32")
    last = ops.full((1,), N - 1, "i32")
    wide = ops.expand(x.reshape((N, 1)), shape=(N, 2))
    pairs = ops.slice(x, 0, 0, 2 * ROWS).reshape((ROWS, 2))
    long, short = (ops.slice(x, 0, 0, n).reshape((n, 1)) for n in (2051, 2053))
    yield "map/index", x, lambda i: i
    yield "map/unary", ops.neg(x), lambda i: -i
    yield "map/binary", ops.add(x, x), lambda i: 2 * i
    part = CATALOGUE["minimum_grad_a"]
    yield "map/ternary", part(x, ops.neg(x), x), lambda i: i
    some = ops.where(ops.lt_scalar(x, 5), x, ops.neg(x))
    yield "map/where", some, lambda i: i if i < 5 else -i
    yield "map/dropout", ops.dropout(x, p=0.0, seed=1), lambda i: i
    yield "map bytes", ops.logical_not(ops.full((BYTES,), 0, "bool")), lambda i: 1
    yield "move/copy", ops.flip(x, (0,)), lambda i: N - 1 - i
    yield "move/cat", ops.cat([x, x]), lambda i: i % N
    yield "move/pick", ops.gather(x, 0, whole), lambda i: i
    at = CATALOGUE["gather_grad"](ops.ones((1,)), last, dim=0, shape=(N,))
    yield "move/scatter_sum", at, lambda i: int(i == N - 1)
    yield "reduce/sum", ops.sum(wide, 1), lambda i: 2 * i
    yield "reduce/sum_to", ops.sum_to(wide, shape=(N, 1)), lambda i: 2 * i
    yield "reduce/extreme", ops.amax(wide, 1), lambda i: i
    yield "reduce/arg_extreme", ops.argmax(wide, 1), lambda i: 0
    yield "reduce/softmax", ops.softmax(wide, 1), lambda i: 0.5
    yield "reduce/column_sum", ops.column_sum(x.reshape((1, N))), lambda i: i
    yield "norm/moments", ops.layer_norm(pairs, (2,), None, None, 0.0), lambda i: 2 * (i % 2) - 1
    one = ops.ones((1,))
    yield (
        "norm/rms_norm",
        ops.rms_norm(ops.neg(pairs.reshape((2 * ROWS, 1))), one, 1e-12),
        (lambda i: -int(i > 0)),
    )
    given = (x.reshape((1, 1, N)), None, None, None, one, 0.0)
    yield "norm/batch_norm", CATALOGUE["batch_norm"](*given), lambda i: i
    yield "index/embedding", ops.embedding(x.reshape((N, 1)), whole), lambda i: i
    yield "index/index_add", ops.index_add(ops.ones((1, 1)), last, N), lambda i: int(i == N - 1)
    yield (
        "matmul/mm_naive",
        ops.mm(long, short.reshape((1, 2053))),
        (lambda i: i // 2053 * (i % 2053)),
    )
    yield "matmul/linear", ops.linear(long, short), lambda i: i // 2053 * (i % 2053)
    yield "optim/accumulate", ops.accumulate(ops.clone(x), x), lambda i: 2 * i


async def probed(dev, name, t, right):
    n = t.nbytes // t.dtype.block_bytes
    places = {0, 1, n - 1, n - 2, 64 * GROUPS - 1, 64 * GROUPS, *(int(f * n) for f in data)}
    found = []
    for i in sorted(p for p in places if p < n):
        start = i * t.dtype.block_bytes
        word = await dev.read(t._view.storage.handle, start // 4 * 4, 4)
        code = {"f32": "<f", "i32": "<i"}.get(t.dtype.name)
        got = struct.unpack(code, word)[0] if code else word[start % 4]
        found.append((i, got, right(i)))
    folded = any(y > 1 for _, y, _ in grids)
    grids.clear()
    return {"name": name, "found": found, "folded": folded}


async def ranked():
    """Every rank, and with each a tensor of nothing."""
    for rank in range(9):
        shape = (2,) * min(rank, 3) + (1,) * max(rank - 3, 0)
        n = 2 ** min(rank, 3)
        x, numbers = ops.arange(0, n).reshape(shape), list(map(float, range(n)))
        same = {"neg": (ops.neg(x), [-v for v in numbers]), "clone": (ops.clone(x), numbers),
                "flip": (ops.flip(x, tuple(range(rank))), numbers[::-1]),
                "sum": (ops.sum(x), [sum(numbers)]), "amax": (ops.amax(x), [n - 1.0])}  # fmt: skip
        if rank:
            same["cat"] = (ops.cat([x, x], 0), numbers * 2)
            none = ops.zeros((*shape[:-1], 0))
            same["nothing"] = (ops.softmax(ops.permute(ops.add(none, none), tuple(range(rank))), 0),
                               [])  # fmt: skip
            same["sum of nothing"] = (ops.sum(none), [0.0])
            same["cat with nothing"] = (ops.cat([none, x], -1), numbers)
        for name, (t, want) in same.items():
            got = await t.reshape((-1,) if t.nbytes else (0,)).tolist()
            yield {"name": f"{name} of rank {rank}", "found": [(0, got, want)]}


dev = await ng.device("webgpu")
grids, compiled = [], dev._compile


def noted(call):
    found = compiled(call)
    grids.append(found[2].grid)
    return found


dev._compiled.clear()
dev._compile = noted
try:
    x = ops.arange(0, N)
    answer = [await probed(dev, *case) for case in tables(x)]
    answer += [one async for one in ranked()]
finally:
    dev._compile = compiled
answer
