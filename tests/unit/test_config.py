"""Hyper-parameters and tensor names: both sources, refusals, and the order of rotary rows."""

import json
from array import array
from dataclasses import asdict
from pathlib import Path

import pytest

from nibblegrad.core.errors import FormatError
from nibblegrad.io import config, gguf, names
from nibblegrad.io.header import Header, TensorInfo

SMOLLM2 = Path(__file__).parents[2] / ".cache/models/SmolLM2-135M-Instruct.Q4_1.gguf"
META = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.context_length": 128,
    "llama.embedding_length": 32,
    "llama.feed_forward_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.rope.freq_base": 100000.0,
    "llama.rope.dimension_count": 8,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "tokenizer.ggml.tokens": ["a", "b", "c"],
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.padding_token_id": 2,
}
HF = {
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "rope_theta": 100000.0,
    "max_position_embeddings": 128,
    "vocab_size": 3,
    "tie_word_embeddings": True,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
    "hidden_act": "silu",
    "attention_bias": False,
    "rope_scaling": None,
}


def from_gguf(tensors=(), **changes):
    meta = {k: v for k, v in (META | changes).items() if v is not ...}
    return config.from_gguf(Header("gguf", meta, dict.fromkeys(tensors), 0))


def from_hf(**changes):
    return config.from_hf(json.dumps({k: v for k, v in (HF | changes).items() if v is not ...}))


def file_of(shapes, kind="safetensors"):
    return Header(kind, {}, {n: TensorInfo(n, "F32", s, 0, 4) for n, s in shapes.items()}, 0)


def test_both_sources_give_the_same_config():
    assert from_gguf() == from_hf()
    assert from_gguf().head_dim == 8 and from_gguf().eos_token_id == (2,)


def test_an_output_matrix_unties_the_embeddings():
    assert from_gguf().tie_word_embeddings and not from_gguf(["output.weight"]).tie_word_embeddings


def test_config_is_transformers_own(tmp_path):
    lib = pytest.importorskip("transformers")
    theirs = lib.LlamaConfig(**{k: v for k, v in HF.items() if k != "rope_theta"})
    theirs.rope_parameters = {"rope_type": "default", "rope_theta": 100000.0}
    theirs.save_pretrained(tmp_path)
    ours = config.from_hf((tmp_path / "config.json").read_bytes())
    assert ours == from_hf()
    for key, value in asdict(ours).items():
        if key not in ("rope_theta", "eos_token_id"):
            assert getattr(theirs, key) == value, key


def test_several_ends_of_turn():
    assert from_hf(vocab_size=9, eos_token_id=[2, 5]).eos_token_id == (2, 5)
    assert from_hf(bos_token_id=None, pad_token_id=-1).pad_token_id is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"general.architecture": "qwen2"}, "architecture is 'qwen2', not supported"),
        ({"general.architecture": ...}, "architecture is None"),
        ({"llama.block_count": ...}, "llama.block_count is missing"),
        ({"llama.block_count": 1001}, "num_hidden_layers is 1001; at most 1000"),
        ({"llama.embedding_length": -4}, "llama.embedding_length is -4; it must be a size"),
        ({"llama.attention.head_count": True}, "head_count is True; it must be a size"),
        ({"llama.attention.head_count_kv": array("i", [1, 2])}, "head_count_kv is array"),
        ({"llama.attention.head_count_kv": 3}, "num_attention_heads=4 is not a multiple of"),
        ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "epsilon is nan"),
        ({"llama.rope.dimension_count": 4}, "dimension_count is 4: partial rotary"),
        ({"llama.rope.scaling.type": "yarn"}, "'yarn': rope scaling, which is not supported"),
        ({"llama.expert_count": 8}, "mixture of experts"),
        ({"llama.attention.sliding_window": 4096}, "sliding-window"),
        ({"tokenizer.ggml.eos_token_id": 3}, "eos_token_id is 3, but vocab_size is 3"),
        ({"tokenizer.ggml.tokens": 7}, "llama.vocab_size is missing"),
        ({"tokenizer.ggml.bos_token_id": "x"}, "it must be a token id"),
    ],
)
def test_gguf_refusals(changes, says):
    with pytest.raises(FormatError) as e:
        from_gguf(**changes)
    assert says in str(e.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "mistral"}, "model_type is 'mistral', not supported; supported: 'llama'"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu': another activation"),
        ({"attention_bias": True}, "attention bias"),
        ({"mlp_bias": True}, "mlp bias"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8}}, "rope_scaling is 'llama3'"),
        ({"rope_scaling": {"type": "linear", "factor": 2}}, "rope_scaling is 'linear'"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_parameters is 'yarn'"),
        ({"rope_scaling": 3}, "rope_scaling is 3, not an object"),
        ({"quantization_config": {"bits": 4}}, "already quantised"),
        ({"hidden_size": 10**400}, "it must be a size"),
        ({"rms_norm_eps": 10**400}, "it must be a number above 0"),
        ({"hidden_size": 20}, "head_dim is 5; rotary embedding needs an even one"),
        ({"tie_word_embeddings": "yes"}, "it must be true or false"),
    ],
)
def test_hf_refusals(changes, says):
    with pytest.raises(FormatError) as e:
        from_hf(**changes)
    assert says in str(e.value)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_config_that_is_no_json_object(text):
    with pytest.raises(FormatError, match=r"config\.json: "):
        config.from_hf(text)


def test_several_refusals_at_once():
    with pytest.raises(FormatError, match=r"config.json: 3 faults\n") as e:
        from_hf(hidden_act="gelu", mlp_bias=True, vocab_size=...)
    assert "vocab_size is missing" in str(e.value) and "mlp bias" in str(e.value)


def test_names_go_both_ways():
    assert names.hf_name("blk.12.attn_q.weight") == "model.layers.12.self_attn.q_proj.weight"
    for hf in names.expected(from_hf(tie_word_embeddings=False)):
        assert names.hf_name(names.gguf_name(hf)) == hf
    for stranger in ("blk.x.attn_q.weight", "blk.0.attn_q", "output", "rope_freqs.weight", ""):
        assert names.hf_name(stranger) is None and names.gguf_name(stranger) is None


def test_expected_tensors_are_transformers_own():
    lib = pytest.importorskip("transformers")
    for tied in (True, False):
        model = lib.LlamaForCausalLM(lib.LlamaConfig(**HF | {"tie_word_embeddings": tied}))
        theirs = {n: tuple(p.shape) for n, p in model.named_parameters()}
        assert names.expected(from_hf(tie_word_embeddings=tied)) == theirs


def test_check_takes_exactly_the_model():
    c = from_hf()
    shapes = names.expected(c)
    buffers = {
        "model.layers.0.self_attn.rotary_emb.inv_freq": (4,),
        "lm_head.weight": (3, 32),  # tied: some checkpoints keep the copy
    }
    assert list(names.check(file_of(shapes | buffers), c)) == list(shapes)
    stored = {names.gguf_name(n): s for n, s in shapes.items()}
    assert list(names.check(file_of(stored, "gguf"), c)) == list(shapes)


def test_check_tells_everything_at_once():
    c = from_hf()
    shapes = {names.gguf_name(n): s for n, s in names.expected(c).items()}
    del shapes["blk.1.ffn_up.weight"]
    shapes["blk.0.attn_q.weight"] = (32, 31)
    shapes["blk.0.attn_q.bias"] = (32,)
    shapes["blk.2.attn_q.weight"] = (32, 32)
    shapes["vision.weight"] = (1,)
    with pytest.raises(FormatError) as e:
        names.check(file_of(shapes, "gguf"), c)
    assert str(e.value).splitlines() == [
        "gguf: 5 faults",
        "  tensor 'vision.weight' is not part of a llama",
        "  tensor 'blk.0.attn_q.bias' is not part of this model",
        "  tensor 'blk.2.attn_q.weight' is not part of this model",
        "  tensor 'blk.0.attn_q.weight' has shape [32, 31], but the config asks for [32, 32]",
        "  tensor 'blk.1.ffn_up.weight' is missing",
    ]


def test_unpermute_rows_undoes_the_converter():
    np = pytest.importorskip("numpy")
    for heads, dim in ((1, 2), (3, 8), (9, 64)):
        w = np.arange(heads * dim * 2).reshape(-1, 2)
        # convert_hf_to_gguf.py, LlamaModel.permute
        stored = w.reshape(heads, 2, dim // 2, 2).swapaxes(1, 2).reshape(w.shape)
        assert (stored[names.unpermute_rows(heads, dim)] == w).all()


def smollm2_config():
    with SMOLLM2.open("rb") as f:
        header = gguf.parse(f.read(2 << 20), SMOLLM2.stat().st_size)
    return header, config.from_gguf(header)


@pytest.mark.skipif(not SMOLLM2.exists(), reason="model not fetched: python3 build.py finetune")
def test_smollm2_is_a_llama_we_know():
    header, c = smollm2_config()
    assert len(names.check(header, c)) == 272
    assert (c.hidden_size, c.head_dim, c.rope_theta) == (576, 64, 100000.0)
    assert c.tie_word_embeddings


ENGLISH = (
    "The lighthouse stood at the end of a long, narrow spit of land. For more than a hundred years"
    " it had guided ships through the fog, and the people of the town were proud of it. Today the"
    " tower is a museum, and visitors climb the two hundred steps to see the whole coast."
)


@pytest.mark.slow
@pytest.mark.skipif(not SMOLLM2.exists(), reason="model not fetched: python3 build.py finetune")
def test_smollm2_speaks_english_only_with_its_rows_put_back():
    """The torch check behind names.py: transformers' Llama, rows as stored and put back."""
    torch, lib = pytest.importorskip("torch"), pytest.importorskip("transformers")
    oracle, rust = pytest.importorskip("gguf"), pytest.importorskip("tokenizers")
    header, c = smollm2_config()
    fields = asdict(c) | {"eos_token_id": 2}
    rope = {"rope_type": "default", "rope_theta": fields.pop("rope_theta")}
    model = lib.LlamaForCausalLM(lib.LlamaConfig(**fields, rope_parameters=rope)).eval()
    weights = {}
    for t in oracle.GGUFReader(str(SMOLLM2)).tensors:
        shape = header.tensors[t.name].shape
        data = oracle.quants.dequantize(t.data, t.tensor_type).reshape(shape).copy()
        weights[names.hf_name(t.name)] = torch.from_numpy(data)
    words = header.metadata["tokenizer.ggml.tokens"]
    merges = [tuple(m.split(" ")) for m in header.metadata["tokenizer.ggml.merges"]]
    bpe = rust.Tokenizer(rust.models.BPE({w: i for i, w in enumerate(words)}, merges))
    bpe.pre_tokenizer = rust.pre_tokenizers.ByteLevel(add_prefix_space=False)
    ids = torch.tensor([bpe.encode(ENGLISH).ids])
    losses = []
    for put_back in (False, True):
        for name in weights:
            heads = {"q_proj": c.num_attention_heads, "k_proj": c.num_key_value_heads}
            if put_back and (kind := name.split(".")[-2]) in heads:
                weights[name] = weights[name][names.unpermute_rows(heads[kind], c.head_dim)]
        model.load_state_dict(weights, strict=False)
        model.tie_weights()
        with torch.no_grad():
            losses.append(model(ids, labels=ids).loss.item())
    assert losses[1] < 3 < 4 < losses[0], losses
