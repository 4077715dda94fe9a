"""The torch fp32 reference of a LoRA fine-tuning run: transformers' Llama, PEFT's LoRA, AdamW.

A module for tests and a command; knows nothing of nibblegrad. What it computes:

    python tests/oracle/reference_run.py MODEL --batches B.json --adapter-init A.safetensors --out D

MODEL is a .gguf file or a Hugging Face folder. B.json: a list of steps, each a list of
micro-batches {"input_ids": [row, ...], "labels": [row, ...]}, rows right-padded, labels not yet
shifted and -100 where no loss is asked. D gets run.json and adapter/.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from peft import set_peft_model_state_dict as set_adapter
from safetensors.numpy import load_file
from transformers import LlamaConfig, LlamaForCausalLM

transformers.utils.logging.disable_progress_bar()

NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
SCHEDULES = {
    "constant": transformers.get_constant_schedule_with_warmup,
    "linear": transformers.get_linear_schedule_with_warmup,
    "cosine": transformers.get_cosine_schedule_with_warmup,
}


# the base model


def load(path):
    """The fp32 model of a GGUF or of a Hugging Face folder."""
    path = Path(path)
    if path.is_dir():
        model = LlamaForCausalLM.from_pretrained(
            path, dtype=torch.float32, attn_implementation="eager"
        )
        return model.eval().requires_grad_(False)
    reader = gguf.GGUFReader(path)
    config = gguf_config(reader)
    model = LlamaForCausalLM.from_pretrained(
        None, config=config, state_dict=gguf_state(reader, config), dtype=torch.float32
    )
    return model.eval().requires_grad_(False)


def gguf_config(reader):
    field = {name: f.contents() for name, f in reader.fields.items() if "ggml.t" not in name}
    if field["general.architecture"] != "llama" or "llama.rope.scaling.type" in field:
        raise ValueError("reference_run: only plain llama GGUF files are known")
    get = {name.removeprefix("llama."): v for name, v in field.items()}
    return LlamaConfig(
        hidden_size=get["embedding_length"],
        intermediate_size=get["feed_forward_length"],
        num_hidden_layers=get["block_count"],
        num_attention_heads=get["attention.head_count"],
        num_key_value_heads=get["attention.head_count_kv"],
        head_dim=get["rope.dimension_count"],
        max_position_embeddings=get["context_length"],
        rms_norm_eps=get["attention.layer_norm_rms_epsilon"],
        rope_parameters={"rope_type": "default", "rope_theta": get["rope.freq_base"]},
        vocab_size=get["vocab_size"],
        bos_token_id=get["tokenizer.ggml.bos_token_id"],
        eos_token_id=get["tokenizer.ggml.eos_token_id"],
        tie_word_embeddings=all(t.name != "output.weight" for t in reader.tensors),
        attn_implementation="eager",
    )


def gguf_state(reader, config):
    """Hugging Face name: dequantised tensor."""
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    out = {}
    for t in reader.tensors:
        *block, kind, _ = t.name.split(".")
        w = gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32)
        w = w.reshape([int(n) for n in t.shape[::-1]])
        if kind in heads:
            w = unpermuted(w, heads[kind])
        where = f"model.layers.{block[1]}." if block else ""
        out[f"{where}{NAMES[kind]}.weight"] = torch.from_numpy(np.ascontiguousarray(w))
    if config.tie_word_embeddings:
        out["lm_head.weight"] = out["model.embed_tokens.weight"]
    return out


def unpermuted(w, heads):
    """Rows of each head from llama.cpp's interleaved pairs back to two halves."""
    half = w.shape[0] // heads // 2
    return w.reshape(heads, half, 2, -1).swapaxes(1, 2).reshape(w.shape)


# the adapter


def random_a(base, r, target_modules, seed=0):
    """A matrices by PEFT's key names, drawn as PEFT draws them; B starts at zero."""
    rng, out = np.random.default_rng(seed), {}
    for name, module in base.named_modules():
        if name.split(".")[-1] in target_modules:
            n = module.weight.shape[1]
            a = rng.uniform(-(n**-0.5), n**-0.5, (r, n)).astype(np.float32)
            out[f"base_model.model.{name}.lora_A.weight"] = a
    return out


def with_lora(base, r, alpha, target_modules, given, rslora=False):
    """Attaches LoRA in place; `given` holds A (and B where not zero) by PEFT's key names."""
    config = LoraConfig(
        r=r,
        lora_alpha=alpha,
        target_modules=list(target_modules),
        use_rslora=rslora,
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(base, config)
    wanted = set(get_peft_model_state_dict(model, save_embedding_layers=False))
    if not {k for k in wanted if "lora_A" in k} <= set(given) <= wanted:
        raise ValueError(f"adapter: keys differ: {sorted(wanted ^ set(given))[:8]}")
    set_adapter(model, {k: torch.from_numpy(np.array(v)) for k, v in given.items()})
    return model


def read_adapter(path):
    """Tensors of a .safetensors or .npz file."""
    path = Path(path)
    return load_file(path) if path.suffix == ".safetensors" else dict(np.load(path))


def save_adapter(model, folder):
    model.save_pretrained(folder, save_embedding_layers=False)


def adapter_logits(base, folder, ids):
    """Logits with an adapter folder as PEFT loads it; any warning or key of no use raises."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = PeftModel.from_pretrained(base, folder)
    try:
        if complaints := [str(w.message) for w in said if w.category is UserWarning]:
            raise ValueError(f"adapter: {complaints}")
        own = get_peft_model_state_dict(model, save_embedding_layers=False)
        given = load_file(Path(folder) / "adapter_model.safetensors")
        if set(own) != set(given):
            raise ValueError(f"adapter: keys differ: {sorted(set(own) ^ set(given))[:8]}")
        return logits(model, ids)
    finally:
        model.unload()


# what is asked of a model


@torch.no_grad()
def logits(model, ids):
    """[tokens, vocab] f32."""
    return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].numpy()


@torch.no_grad()
def greedy(model, ids, n):
    """The n tokens that follow, the likeliest each time, no stop token."""
    out, feed, cache = [], torch.tensor([ids]), None
    for _ in range(n):
        step = model(input_ids=feed, cache=cache, use_cache=True)
        feed, cache = step.logits[:, -1:].argmax(-1), step.cache
        out.append(int(feed))
    return out


@torch.no_grad()
def mean_loss(model, micro_batches):
    """Mean cross-entropy over every token that carries loss."""
    total = loss_tokens(micro_batches)
    return float(sum(batch_loss(model, batch, total) for batch in micro_batches))


def loss_tokens(micro_batches):
    """How many shifted labels ask for loss: the first label of a row never does."""
    return sum(int((np.array(b["labels"])[:, 1:] != -100).sum()) for b in micro_batches)


def batch_loss(model, batch, total):
    ids, labels = torch.tensor(batch["input_ids"]), torch.tensor(batch["labels"])
    return model(input_ids=ids, labels=labels, num_items_in_batch=total, use_cache=False).loss


# the run


def train(
    model,
    steps,
    learning_rate,
    schedule="constant",
    warmup_steps=0,
    total_steps=None,
    weight_decay=0.0,
    max_grad_norm=1.0,
):
    """Runs the steps; losses, gradient norms (before clipping) and learning rates of each.

    A max_grad_norm of 0 clips nothing. With warm-up the first step's learning rate is 0.
    """
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        params, lr=learning_rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=weight_decay
    )
    span = {} if schedule == "constant" else {"num_training_steps": total_steps or len(steps)}
    scheduler = SCHEDULES[schedule](optimizer, num_warmup_steps=warmup_steps, **span)
    out = {"losses": [], "grad_norms": [], "learning_rates": []}
    model.train()
    for micro_batches in steps:
        total, loss = loss_tokens(micro_batches), 0.0
        for batch in micro_batches:
            part = batch_loss(model, batch, total)
            part.backward()
            loss += part.item()
        norm = torch.nn.utils.clip_grad_norm_(params, max_grad_norm or float("inf"))
        out["losses"].append(loss)
        out["grad_norms"].append(norm.item())
        out["learning_rates"].append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    model.eval()
    return out


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("model", help=".gguf file or Hugging Face folder")
    p.add_argument("--batches", required=True, help="JSON, see the head of this file")
    p.add_argument("--adapter-init", required=True, help="A matrices: .safetensors or .npz")
    p.add_argument("--lora-r", type=int, default=8)
    p.add_argument("--lora-alpha", type=float, default=16)
    p.add_argument("--target-modules", default="q_proj,v_proj", help="comma-separated")
    p.add_argument("--rslora", action="store_true")
    p.add_argument("--learning-rate", type=float, default=2e-4)
    p.add_argument("--schedule", choices=sorted(SCHEDULES), default="constant")
    p.add_argument("--warmup-steps", type=int, default=0)
    p.add_argument("--total-steps", type=int, help="of the schedule; default: as many as given")
    p.add_argument("--weight-decay", type=float, default=0.0)
    p.add_argument("--max-grad-norm", type=float, default=1.0)
    p.add_argument("--threads", type=int, help="torch threads")
    p.add_argument("--out", required=True, type=Path)
    return p.parse_args()


def main():
    a = arguments()
    if a.threads:
        torch.set_num_threads(a.threads)
    steps, start = json.loads(Path(a.batches).read_text()), time.perf_counter()
    targets, given = a.target_modules.split(","), read_adapter(a.adapter_init)
    model = with_lora(load(a.model), a.lora_r, a.lora_alpha, targets, given, a.rslora)
    loaded = time.perf_counter()
    plan = (a.learning_rate, a.schedule, a.warmup_steps, a.total_steps)
    run = train(model, steps, *plan, a.weight_decay, a.max_grad_norm)
    run |= {"load_s": loaded - start, "train_s": time.perf_counter() - loaded}
    save_adapter(model, a.out / "adapter")
    a.out.joinpath("run.json").write_text(json.dumps(run, indent=1))
    print(json.dumps(run))


if __name__ == "__main__":
    main()
