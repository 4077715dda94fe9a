"""build.py finetune: the page's job from the terminal. No training logic here or in the page."""

import argparse
import json
import re
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from . import fetch, site
from .report import Report
from .say import DriverError, Mistake
from .session import Event, Session

COUNTS = ["steps", "seq_len", "batch_size", "gradient_accumulation_steps", "lora_r"]
POSITIVE = ["learning_rate", "lora_alpha"]
OPTIONS = [*COUNTS, *POSITIVE, "target_modules", "seed"]
BESIDE = ["config.json", "tokenizer.json"]  # what a .safetensors file cannot do without
MAY_BE_BESIDE = ["tokenizer_config.json", "chat_template.jinja", "generation_config.json"]
SHARD = re.compile(r"(.+)-\d{5}-of-(\d{5})\.safetensors")


def main(options: argparse.Namespace) -> int:
    check(options)
    report = Report(to_stderr=options.json)
    model = options.model or fetch.model()
    files = [model, *companions(model), *([options.data] if options.data else [])]
    events: SimpleQueue[Event] = SimpleQueue()
    site.build()  # before the browser is spoken of; Session finds it done
    report.status("starting the browser and Python in it")
    with Session(headed=options.headed, on_event=events.put) as session:
        for path in files:
            session.add_file(path)
        config = {name: getattr(options, name) for name in OPTIONS}
        config |= {"model": f"/files/{model.name}", "out": "/out"}
        config["data"] = f"/files/{options.data.name}" if options.data else None
        source = "([config]) => driver.finetune(config)"
        job = session.start(session.evaluate(source, config))
        stopped = _follow(session, job, events, report)
        end = job.result()
        names = session.save_out(options.out)
        if not end["ok"]:
            raise DriverError(end["error"].strip())
        options.out.mkdir(parents=True, exist_ok=True)
        session.screenshot("#chart", options.out / "loss.png")
    report.results(options.out, files := [*names, "loss.png"])
    if options.json:
        print(json.dumps(report.summary | {"files": [str(options.out / name) for name in files]}))
    return 130 if stopped else 0


def _follow(session: Session, job: Future[Any], events: SimpleQueue[Event], report: Report) -> bool:
    """Shows events until the job ends; whether Ctrl-C ended it. A second Ctrl-C is not caught."""
    stopped = False
    with report:
        while True:
            try:
                report.show(events.get(timeout=0.2))
            except Empty:
                if job.done() and events.empty():
                    return stopped
            except KeyboardInterrupt:
                if stopped:
                    raise
                stopped = True
                report.status("stopping after this step; Ctrl-C again to lose what was learned")
                session.start(session.evaluate("() => driver.call('stop')"))


def check(options: argparse.Namespace) -> None:
    """Refuses what cannot work before a browser starts."""
    for name in COUNTS:
        _at_least(options, name, 1)
    _at_least(options, "seed", 0)
    for name in POSITIVE:
        value = getattr(options, name)
        if value is not None and not 0 < value < float("inf"):
            raise Mistake(f"finetune: {_flag(name)} must be above 0, got {value}")
    if options.target_modules == []:
        raise Mistake("finetune: --target-modules names none; for example q_proj,v_proj")
    _file(options.model, "--model", [".gguf", ".safetensors"])
    _file(options.data, "--data", [".jsonl", ".txt"])
    if options.out.exists() and not options.out.is_dir():
        raise Mistake(f"finetune: --out {options.out} is a file; name a folder")
    if options.model:
        companions(options.model)


def companions(model: Path) -> list[Path]:
    """What belongs to a .safetensors file: its other shards, configuration and tokenizer."""
    if model.suffix != ".safetensors":
        return []
    missing = [name for name in BESIDE if not (model.parent / name).is_file()]
    if missing:
        raise Mistake(f"finetune: {model.parent} has no {' or '.join(missing)}; put it there")
    names = BESIDE + MAY_BE_BESIDE
    if shard := SHARD.fullmatch(model.name):
        stem, count = shard[1], int(shard[2])
        shards = [f"{stem}-{i:05}-of-{shard[2]}.safetensors" for i in range(1, count + 1)]
        lost = [name for name in shards if not (model.parent / name).is_file()]
        if lost:
            raise Mistake(f"finetune: {model.parent} has no {', '.join(lost)}; fetch all shards")
        names = [*names, *shards, f"{stem}.safetensors.index.json"]
    beside = (model.parent / name for name in names if name != model.name)
    return [path for path in beside if path.is_file()]


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _at_least(options: argparse.Namespace, name: str, least: int) -> None:
    value = getattr(options, name)
    if value is not None and value < least:
        raise Mistake(f"finetune: {_flag(name)} must be {least} or more, got {value}")


def _file(path: Path | None, flag: str, suffixes: list[str]) -> None:
    if path is None:
        return
    if path.suffix not in suffixes:
        kinds = " or ".join(suffixes)
        raise Mistake(f"finetune: {flag} {path} has the suffix '{path.suffix}'; give {kinds}")
    if not path.is_file():
        raise Mistake(f"finetune: {flag} {path} is not a file")
