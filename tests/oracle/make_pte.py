# python3 -m venv /tmp/et && /tmp/et/bin/pip install torch==2.13.0 executorch==1.5.1 \
#   torchao==0.18.0 && /tmp/et/bin/python tests/oracle/make_pte.py [NAME ...]
"""Writes tests/data/pte: small programs exported by upstream, torch's answers, parsed facts.

NAME.pte; NAME.npz with `method/set/in/i` and `method/set/out/i` (and facts.json.gz: what
ExecuTorch's own deserialisers read in each file, every field, a table as [its name, its values]).
"""

import copy
import dataclasses
import gzip
import hashlib
import json
import logging
import re
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

warnings.filterwarnings("ignore")
sys.path.insert(0, str(Path(__file__).parent))

import pte_nets  # noqa: E402, F401
from executorch.backends.vulkan.partitioner.vulkan_partitioner import (  # noqa: E402
    VulkanPartitioner,
)
from executorch.backends.vulkan.serialization import (  # noqa: E402
    vulkan_graph_serialize as vk,
)
from executorch.exir import (  # noqa: E402
    ExecutorchBackendConfig,
    to_edge_transform_and_lower,
)
from executorch.exir._serialize import _program as outer  # noqa: E402
from pte_models import MODELS  # noqa: E402

INFINITE = re.compile(rb"(?<=: )(-?)inf\b")
# flatc writes inf, which upstream's reader then takes for no JSON
vk.json = SimpleNamespace(
    dumps=json.dumps, load=lambda file: json.loads(INFINITE.sub(rb"\1Infinity", file.read()))
)
OUT = Path(__file__).parents[1] / "data/pte"
FACTS = OUT / "facts.json.gz"


def lower(model):
    """The program's bytes; each method is a module with one or more sets of inputs."""
    exported = {}
    for method, (module, sets) in model.methods.items():
        exported[method] = torch.export.export(
            module, sets[0], dynamic_shapes=model.dynamic, strict=model.strict
        )
    parts = [VulkanPartitioner(model.options)] if model.lower else None
    edge = to_edge_transform_and_lower(exported, partitioner=parts)
    return edge.to_executorch(ExecutorchBackendConfig(**model.config)).buffer


@torch.no_grad()
def answers(model):
    """Inputs and torch's outputs; a module with state runs its sets in a row, as a page would."""
    arrays = {}
    for method, (module, sets) in model.methods.items():
        module = copy.deepcopy(
            model.judges.get(method, module)
        )  # what is exported keeps its first state
        for i, inputs in enumerate(sets):
            # upstream's runtime may write into what it is given
            out = module(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
            outs = out if isinstance(out, (tuple, list)) else [out]
            for side, row in (("in", inputs), ("out", outs)):
                for j, x in enumerate(row):
                    array = x.detach().contiguous().numpy() if hasattr(x, "numpy") else x
                    arrays[f"{method}/{i}/{side}/{j}"] = np.asarray(array)
    return arrays


def sha(raw):
    return hashlib.sha256(raw).hexdigest()[:16]


class Facts:
    """Upstream's dataclasses as lists, with the field names of each class told once."""

    def __init__(self):
        self.fields = {}

    def of(self, x):
        if dataclasses.is_dataclass(x):
            names = [f.name for f in dataclasses.fields(x)]
            self.fields[type(x).__name__] = names
            return [type(x).__name__, *(self.of(getattr(x, n)) for n in names)]
        if isinstance(x, (list, tuple)):
            return [self.of(y) for y in x]
        return list(x) if isinstance(x, bytes) else x

    def file(self, raw):
        """What upstream reads: the tables, each delegate's graph, digests of all data."""
        header = outer._get_extended_header(raw)
        end = header.program_size if header else len(raw)
        program = outer._flatbuffer_to_program(raw[:end])
        for data in program.backend_delegate_data:
            data.data = sha(bytes(data.data)).encode()
        tables = self.of(program)
        whole = outer.deserialize_pte_binary(raw)
        blobs = [
            bytes(whole.program.backend_delegate_data[d.processed.index].data)
            for plan in whole.program.execution_plan
            for d in plan.delegates
            if d.id == "VulkanBackend"
        ]
        named = whole.named_data
        return {
            "bytes": len(raw),
            "sha": sha(raw),
            "program": tables,
            "graphs": [
                self.of(vk.flatbuffer_to_vk_graph(vk.extract_vk_flatbuffer(b))) for b in blobs
            ],
            "blobs": [sha(b) for b in blobs],
            "constants": [bytes(b.storage)[:1024].hex() for b in whole.program.constant_buffer],
            "mutable": [bytes(b.storage)[:1024].hex() for b in whole.mutable_data or []],
            "named": {
                key: sha(bytes(named.buffers[entry.buffer_index]))
                for key, entry in (named.pte_data.items() if named else ())
            },
        }


def main():
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    OUT.mkdir(parents=True, exist_ok=True)
    facts = Facts()
    old = json.loads(gzip.decompress(FACTS.read_bytes())) if FACTS.exists() else {}
    facts.fields, files = old.get("fields", {}), old.get("files", {})
    for name, build in MODELS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        torch.manual_seed(0)
        model = build()
        np.savez_compressed(OUT / f"{name}.npz", **answers(model))
        raw = lower(model)
        (OUT / f"{name}.pte").write_bytes(raw)
        files[name] = facts.file(raw)
        text = json.dumps({"fields": facts.fields, "files": files}, separators=(",", ":"))
        FACTS.write_bytes(gzip.compress(text.encode(), mtime=0))
        print(name, len(raw), (OUT / f"{name}.npz").stat().st_size, flush=True)
    print("total", sum(p.stat().st_size for p in OUT.iterdir()))


if __name__ == "__main__":
    main()
