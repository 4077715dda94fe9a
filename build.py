#!/usr/bin/env python3
"""The only entry point: makes .cache/venv, then hands over to py/driver there.

Standard library only, for it runs before anything is installed.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036, for whoever starts it with an old one
        print(f"build: Python is {sys.version.split()[0]}; use 3.11 or newer", file=sys.stderr)
        return 2
    sys.dont_write_bytecode = True  # the tree stays clean
    sys.path.insert(0, str(ROOT / "py"))
    from driver import cli, venv
    from driver.say import DriverError, say

    options = cli.parse(sys.argv[1:])
    if options is None:
        return 0
    try:
        python = venv.ensure(cli.stages(options))
    except DriverError as problem:
        say(str(problem))
        return 1
    path = os.pathsep.join(filter(None, [str(ROOT / "py"), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    arguments = [str(python), "-m", "driver", *sys.argv[1:]]
    os.execve(python, arguments, environment)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
