"""The command line of build.py: options, their help, and what each command needs installed."""

import argparse
from pathlib import Path
from typing import Any

from .paths import PYODIDE, PYODIDE_FOLDER

ABOUT = "nibblegrad: fine-tune a 4-bit language model in a browser, from Python."
MORE = "Everything made or fetched lies in .cache/. 'build.py COMMAND --help' tells the rest."


def parse(argv: list[str]) -> argparse.Namespace | None:
    """The options, or None when help was all there was to give. Exits with 2 on a mistake."""
    argv, rest = _split(argv)
    parser = _parser()
    if not argv:
        parser.print_help()
        return None
    options = parser.parse_args(argv)
    if rest and options.command not in ("run", "test", "bench"):
        parser.error(f"{options.command} takes nothing after --, got {' '.join(rest)}")
    options.rest = rest
    return options


def stages(options: argparse.Namespace) -> list[str]:
    """The pinned tools this command needs, as names of files in pins/."""
    more = {
        "check": ["check"],
        "conformance": ["check"],
        "docs": ["check"],
        "test": ["check", "torch", "test"],
    }
    return ["base", *more.get(options.command, [])]


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in argv:
        return argv, []
    at = argv.index("--")
    return argv[:at], argv[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("build.py", description=ABOUT, epilog=MORE)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def command(name: str, about: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")

    _finetune(command("finetune", "fine-tune a model in headless Chromium, and show it learned"))
    _run(command("run", "run a Python file in the page's Pyodide, with nibblegrad importable"))
    _serve(command("serve", "serve the page, to fine-tune in your own browser"))
    test = command("test", "run all tests; what follows -- goes to pytest")
    test.epilog = "Example: build.py test -- -k lora tests/models"
    check = command("check", "the fast gate: format, lint, types, layers, host tests; no browser")
    check.add_argument("--fix", action="store_true", help="format, and mend what lint can, first")
    _bench(command("bench", "measure kernels and the model in the page, against the GPU's limits"))
    _conformance(command("conformance", "run upstream's op tests, or a program, in the page"))
    command("docs", "write docs/ops.md, the table of all operators")
    command("wheel", "build the wheel and print where it is")
    command("sizes", "print the size budgets and what is used")
    return parser


def _run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("script", type=Path, metavar="SCRIPT.py", help="top-level await is allowed")
    add("--file", type=Path, action="append", default=[], metavar="PATH",
        help="show this file to the script as /files/NAME; may be repeated")  # fmt: skip
    add("--out", type=Path, default=Path("out"), metavar="DIR",
        help="where what the script wrote to /out goes (default: ./out)")  # fmt: skip
    add("--pyodide", default=PYODIDE, choices=PYODIDE_FOLDER, metavar="VERSION",
        help="%(choices)s (default: %(default)s); numpy is loaded in 0.27.7 only")  # fmt: skip
    add("--headed", action="store_true", help="show the browser")
    add("--no-isolation", action="store_true", help="serve without COOP/COEP")
    parser.epilog = "What follows -- is the script's sys.argv[1:]."


def _serve(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--port", type=int, default=8008, help="0 takes a free one (default: %(default)s)")
    add("--no-isolation", action="store_true", help="serve without COOP/COEP")


def _finetune(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", type=Path, metavar="FILE",
        help=".gguf, or .safetensors beside its config.json and tokenizer.json "
        "(default: SmolLM2-135M-Instruct in 4 bits, fetched once)")  # fmt: skip
    add("--data", type=Path, metavar="FILE",
        help=".jsonl of chats, or .txt (default: a small data set of our own)")  # fmt: skip
    add("--steps", type=int, metavar="N", help="default: 100 on a GPU, few without")
    add("--seq-len", type=int, metavar="N", help="tokens an example may have")
    add("--batch-size", type=int, metavar="N", help="examples per pass")
    add("--gradient-accumulation-steps", type=int, metavar="N", help="passes per step")
    add("--learning-rate", type=float, metavar="X", help="of AdamW")
    add("--lora-r", type=int, metavar="N", help="rank of the adapter")
    add("--lora-alpha", type=float, metavar="X", help="its scale is alpha / r")
    add("--target-modules", nargs="+", action=Names, metavar="NAME",
        help="layers that get an adapter, apart by spaces or commas")  # fmt: skip
    add("--seed", type=int, metavar="N", help="the same seed gives the same losses")
    add("--out", type=Path, default=Path("nibblegrad-out"), metavar="DIR",
        help="where the results go (default: ./nibblegrad-out)")  # fmt: skip
    add("--headed", action="store_true", help="show the browser")
    add("--json", action="store_true",
        help="the last line of stdout is one JSON object; the rest goes to stderr")  # fmt: skip
    parser.epilog = "Ctrl-C stops after the current step and keeps what was learned."


def _bench(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--only", action="append", default=[], metavar="PATTERN",
        help="rows whose name (such as 'mm 512x512x512') has this, a pattern of Python's re; "
        "may be repeated")  # fmt: skip
    add("--peers", action="store_true",
        help="beside jax-js, tfjs, onnxruntime-web and borch, fetched once")  # fmt: skip
    add("--routes", action="store_true", help="a row for every kernel that takes the call")
    add("--tokens", type=int, metavar="N", help="of the model's text; 512 on a GPU, few without")
    add("--no-model", action="store_true", help="leave the language model out")
    add("--site", type=Path, metavar="FOLDER",
        help="run nothing; write bench.html and all it needs, for where no network is")  # fmt: skip
    add("--headed", action="store_true", help="show the browser")
    add("--json", action="store_true",
        help="stdout is one JSON object; the table goes to stderr")  # fmt: skip
    parser.epilog = (
        "What follows -- are scripts of tests/bench/scripts, which print their own tables."
    )


def _conformance(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--only", action="append", default=[], metavar="OP",
        help="the cases of this op, or OP/CASE; may be repeated")  # fmt: skip
    add("--list", action="store_true", help="print the cases, run none")
    add("--program", type=Path, metavar="FILE.pte", help="run a program of your own instead")
    add("--inputs", type=Path, metavar="FILE.npz",
        help="its inputs in/0, in/1, ...; where out/0, ... are there too, they are compared. "
        "METHOD/CALL/in/0 calls a method several times")  # fmt: skip
    add("--out", type=Path, metavar="FILE.npz", help="keep the program's outputs")
    add("--record", action="store_true", help="keep the counts of a whole run for docs/ops.md")
    add("--headed", action="store_true", help="show the browser")
    add("--json", action="store_true",
        help="stdout is one JSON object with totals and a row a case")  # fmt: skip
    parser.epilog = (
        "The first run installs executorch 1.5.1 (1.5 GB) into .cache/venv-executorch and exports "
        "380 programs (some minutes); both are kept. The status is 0 only if all agree."
    )


class Names(argparse.Action):
    """Words, and words between commas, as one list."""

    def __call__(self, parser: Any, space: Any, values: Any, option: Any = None) -> None:
        words = [word.strip() for value in values for word in value.split(",")]
        setattr(space, self.dest, [word for word in words if word])
