"""build.py run: one Python file in the page's Pyodide, its output here, its /out brought back."""

import argparse
import concurrent.futures
import contextlib
import sys

from .say import Mistake, say
from .session import Event, Result, Session

PATIENCE = 4  # seconds for a script to end after Ctrl-C


def main(options: argparse.Namespace) -> int:
    check(options)
    code = options.script.read_text(encoding="utf-8")
    session = Session(
        pyodide=options.pyodide,
        isolated=not options.no_isolation,
        headed=options.headed,
        on_event=_show,
    )
    with session:
        for path in options.file:
            session.add_file(path)
        result = _run(session, code, options)
        if result.error:
            _write(sys.stderr, result.error)
        names = session.save_out(options.out)
    if names and sys.stderr.isatty():
        say(f"run: {len(names)} file(s) from /out are in {options.out}")
    return result.status


def check(options: argparse.Namespace) -> None:
    """Refuses what cannot work before a browser starts."""
    names = [path.name for path in options.file]
    for path in [options.script, *options.file]:
        if not path.is_file():
            raise Mistake(f"run: {path} is not a file")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise Mistake(f"run: two files are named {twice}; under /files each needs its own name")
    if options.out.exists() and not options.out.is_dir():
        raise Mistake(f"run: --out {options.out} is a file; name a folder")


def _run(session: Session, code: str, options: argparse.Namespace) -> Result:
    """Ctrl-C reaches the script; one that does not end is left behind."""
    future = session.start_python(code, options.rest, str(options.script))
    try:
        return future.result()
    except KeyboardInterrupt:
        pass
    for force in (False, True):
        session.interrupt(force)
        with contextlib.suppress(concurrent.futures.TimeoutError):
            return future.result(PATIENCE)
    why = "it was served without isolation" if options.no_isolation else "it did not listen"
    say(f"run: the script goes on after Ctrl-C, for {why}; its browser was closed")
    raise KeyboardInterrupt


def _show(event: Event) -> None:
    stream = {"stdout": sys.stdout, "stderr": sys.stderr}.get(event["type"])
    if stream:
        _write(stream, event["text"])


def _write(stream, text: str) -> None:
    stream.write(text)
    stream.flush()
