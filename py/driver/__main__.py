"""Runs one command of build.py, inside .cache/venv."""

import importlib
import os
import sys

from . import cli
from .say import DriverError, Mistake, say

OWN = [
    "run",
    "finetune",
    "serve",
    "sizes",
    "conformance",
    "docs",
    "bench",
]  # those with a file of their own


def main() -> int:
    options = cli.parse(sys.argv[1:])
    if options is None:
        return 0
    module = importlib.import_module(
        f".{options.command if options.command in OWN else 'checks'}", __package__
    )
    try:
        return module.main(options)
    except Mistake as mistake:
        say(str(mistake))
        return 2
    except DriverError as problem:
        say(str(problem))
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output went away, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
