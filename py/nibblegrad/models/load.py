"""From a GGUF or safetensors file to a model: Python reads the header, weights go to the GPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import ops
from ..core.dtype import DTYPES
from ..core.errors import FormatError
from ..core.schema import Info
from ..gpu.device import Storage, View
from ..io import config as configs
from ..io import gguf, names, safetensors
from ..io import tokenizer as tokenizers
from ..io.header import Header, NeedMore, TensorInfo
from ..nn import Attention, Embedding, Linear, Q4Linear, RMSNorm, Rope
from ..tensor import Tensor, no_grad, open_default_device, tensor
from .llama import MLP, Block, Body, Llama
from .text import open_tokenizer

PREFIX = 1 << 21
ALIGN = 256
Progress = Callable[[int, int], None]


async def load(where: str, *, progress: Progress | None = None, group_size: int = 32) -> Llama:
    """A model from a path of the page ("/files/model.gguf") or a URL.

    GGUF weights (F32 F16 BF16 Q8_0 Q4_0 Q4_1) are used as stored. safetensors checkpoints, with
    config.json and tokenizer.json beside them, have their linear layers quantised to q4gsw with
    `group_size` while loading. `progress(loaded, total)` counts bytes. Raises FormatError, which
    names everything that is wrong with the file.
    """
    dev = await open_default_device()
    started = time.monotonic()
    source = await dev.open_source(where)
    header = await read_header(source)
    report = progress or (lambda loaded, total: None)
    with no_grad():
        if header.format == "gguf":
            model = await _from_gguf(dev, source, header, report)
        else:
            model = await _from_safetensors(dev, source, header, where, report, group_size)
        await model.model.norm.weight.tobytes()  # the uploads and quantising are done
    meta = header.metadata
    model.info.update({
        "name": where.rpartition("/")[2], "format": header.format, "bytes": source.size,
        "tensors": len(header.tensors), "license": meta.get("general.license"),
        "title": meta.get("general.name"), "load_s": time.monotonic() - started,
    })  # fmt: skip
    return model


async def read_header(source: Any) -> Header:
    """Parse as much of the file's start as its header needs."""
    size = min(PREFIX, source.size)
    while True:
        prefix = await source.read(0, size)
        if len(prefix) < size:
            raise FormatError(f"load: the file ended after {len(prefix)} of {source.size} bytes")
        try:
            parse = gguf.parse if prefix[:4] in (b"GGUF", b"FUGG") else safetensors.parse
            return parse(prefix, source.size)
        except NeedMore as more:
            size = min(source.size, max(2 * size, more.bytes_wanted))


@dataclass
class Placed:
    """Where a tensor of the file lies on the device."""

    storage: Storage
    at: int
    info: TensorInfo

    def tensor(self) -> Tensor:
        """It, as stored."""
        info = Info(self.info.shape, DTYPES[self.info.type.lower()])
        return Tensor(View(self.storage, self.at, info))


async def place(dev: Any, source: Any, infos: dict[str, TensorInfo], report: Progress) -> Any:
    """Stream tensors into as few buffers as the device allows, each at a 256-byte border.

    Neighbours in the file whose borders fit stay neighbours, and arrive in one request.
    """
    limit = getattr(dev, "limits", {}).get("maxBufferSize", 1 << 40)
    shards: list[list[tuple[str, int]]] = [[]]
    cursor = 0
    for name, info in sorted(infos.items(), key=lambda item: item[1].offset):
        at = -(-cursor // ALIGN) * ALIGN
        if at + info.nbytes > limit and shards[-1]:
            shards.append([])
            at = 0
        shards[-1].append((name, at))
        cursor = at + info.nbytes
    total = sum(i.nbytes for i in infos.values())
    placed: dict[str, Placed] = {}
    for shard in shards:
        last, at = shard[-1]
        storage = Storage(dev, at + infos[last].nbytes + 16)
        for name, at in shard:
            placed[name] = Placed(storage, at, infos[name])
        await _stream_runs(source, [placed[n] for n, _ in shard], total, report)
    return placed


async def _stream_runs(source: Any, shard: list[Placed], total: int, report: Progress) -> None:
    """One request for each run of tensors that lie on the device as they do in the file."""
    runs: list[list[Placed]] = []
    for one in shard:
        if runs and one.info.offset - runs[-1][0].info.offset == one.at - runs[-1][0].at:
            runs[-1].append(one)
        else:
            runs.append([one])
    for run in runs:
        first, last = run[0], run[-1]
        nbytes = last.at + last.info.nbytes - first.at
        await source.stream(first.info.offset, nbytes, first.storage.handle, first.at,
                            lambda done, first=first: report(first.at + done, total))  # fmt: skip


async def _from_gguf(dev: Any, source: Any, header: Header, report: Progress) -> Llama:
    config = configs.from_gguf(header)
    spec = tokenizers.from_gguf(header.metadata)
    infos = names.check(header, config)
    placed = await place(dev, source, infos, report)
    found = {name: one.tensor() for name, one in placed.items()}
    model = build(config, found, Linear, interleaved=True)
    model.tokenizer = await open_tokenizer(dev, spec)
    return model


async def _from_safetensors(
    dev: Any, source: Any, header: Header, where: str, report: Progress, group_size: int
) -> Llama:
    config = configs.from_hf(await _needed(dev, where, "config.json"))
    spec = tokenizers.from_hf(
        await _needed(dev, where, "tokenizer.json"),
        await _beside(dev, where, "tokenizer_config.json"),
        (await _beside(dev, where, "chat_template.jinja") or b"").decode() or None,
    )
    infos = names.check(header, config)
    total, done = sum(i.nbytes for i in infos.values()), 0
    found: dict[str, Any] = {}
    for name, info in infos.items():  # one at a time: the stored halves never all lie there at once
        placed = await place(
            dev, source, {name: info}, lambda n, _, base=done: report(base + n, total)
        )
        done += info.nbytes
        found[name] = _convert(name, placed[name].tensor(), group_size)
        await dev.read(
            placed[name].storage.handle, 0, 4
        )  # done with: its bytes go back to the pool
        del placed
    dev.trim()
    model = build(config, found, lambda w: w if isinstance(w, Q4Linear) else Linear(w), False)
    model.tokenizer = await open_tokenizer(dev, spec)
    return model


def _convert(name: str, stored: Tensor, group_size: int) -> Any:
    """A linear's weight to q4gsw; norms and other vectors to f32; embeddings stay as stored."""
    if len(stored.shape) == 1:
        row = stored.reshape(1, -1)
        return ops.embedding(row, tensor([0], "i32")).reshape(-1)
    if "_proj." not in name or stored.shape[1] % group_size:
        return stored
    every = tensor(list(range(stored.shape[0])), "i32")
    return Q4Linear.quantise(ops.embedding(stored, every), group_size)


async def _beside(dev: Any, where: str, name: str) -> bytes | None:
    """A file of the same folder, if there is one."""
    path = f"{where.rpartition('/')[0]}/{name}" if "/" in where else name
    try:
        source = await dev.open_source(path)
        return await source.read(0, source.size)
    except FormatError:
        return None


async def _needed(dev: Any, where: str, name: str) -> bytes:
    """A file of the same folder that must be there."""
    found = await _beside(dev, where, name)
    if found is None:
        raise FormatError(f"load: '{where}' needs {name} beside it; there is none")
    return found


def build(config: Any, found: dict[str, Any], linear: Any, interleaved: bool) -> Llama:
    """Put a Llama together from its tensors by Hugging Face name."""
    c, eps = config, config.rms_norm_eps

    def block(i: int) -> Block:
        def at(name: str) -> Any:
            return found[f"model.layers.{i}.{name}.weight"]

        q, k, v, o = (linear(at(f"self_attn.{p}_proj")) for p in "qkvo")
        mlp = MLP(*(linear(at(f"mlp.{p}_proj")) for p in ("gate", "up", "down")))
        sizes = c.num_attention_heads, c.num_key_value_heads, c.head_dim
        attention = Attention(q, k, v, o, *sizes)
        norms = [RMSNorm(at(n), eps) for n in ("input_layernorm", "post_attention_layernorm")]
        return Block(norms[0], attention, norms[1], mlp)

    embed = Embedding(found["model.embed_tokens.weight"])
    layers = [block(i) for i in range(c.num_hidden_layers)]
    body = Body(embed, layers, RMSNorm(found["model.norm.weight"], eps))
    head = Linear(embed.weight if c.tie_word_embeddings else found["lm_head.weight"])
    return Llama(config, body, head, Rope(c.head_dim, c.rope_theta, interleaved))
