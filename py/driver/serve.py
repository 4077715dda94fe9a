"""build.py serve: the page for a person's own browser."""

import argparse
import threading

from . import fetch, site
from .say import Mistake
from .server import Server


def main(options: argparse.Namespace) -> int:
    model = fetch.model()
    config = site.config(site.build(), model=model)
    try:
        server = Server(config, options.port, isolated=not options.no_isolation)
    except (OSError, OverflowError) as problem:
        raise Mistake(f"serve: port {options.port}: {problem}; give another --port") from None
    server.files[model.name] = model
    print(f"nibblegrad is at {server.url} (Ctrl-C ends it)", flush=True)
    try:
        threading.Event().wait()
    finally:
        server.close()
    return 0
