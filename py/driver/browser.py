"""Finds a Chrome or Chromium, or gets one, and says with which flags it runs."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from .process import apt_install, run_quiet
from .say import DriverError, say

FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--enable-unsafe-webgpu",
    "--enable-features=Vulkan",
]
COMMANDS = ["google-chrome", "google-chrome-stable", "chromium", "chromium-browser"]
MACS = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
]
GIVE = "or set NIBBLEGRAD_BROWSER to one"


def flags() -> list[str]:
    """NIBBLEGRAD_BROWSER_FLAGS adds to them, for a GPU that needs its own."""
    return FLAGS + shlex.split(os.environ.get("NIBBLEGRAD_BROWSER_FLAGS", ""))


def ensure() -> str:
    """The path of a browser: named, installed, from apt, or Playwright's; in this order."""
    named = os.environ.get("NIBBLEGRAD_BROWSER")
    if named:
        if shutil.which(named):
            return named
        raise DriverError(f"browser: NIBBLEGRAD_BROWSER={named} cannot be run; name another file")
    found = _installed() or _playwrights()
    if found:
        return found
    if Path("/etc/debian_version").exists():
        say("build: installing Debian's chromium by apt (once)")
        if apt_install("chromium") and (found := _installed()):
            return found
    return _download()


def _installed() -> str | None:
    named = [path for name in COMMANDS if (path := shutil.which(name))]
    macs = [path for path in MACS if Path(path).exists()]
    return next(iter(named + macs), None)


def _playwrights() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _download() -> str:
    say("build: downloading Playwright's Chromium (once)")
    try:
        run_quiet("browser", [sys.executable, "-m", "playwright", "install", "chromium"], "")
    except DriverError as problem:
        raise DriverError(
            f"browser: no Chrome or Chromium here, and none could be fetched; install one, {GIVE}"
            f"\n{problem}"
        ) from None
    found = _playwrights()
    if found is None:
        raise DriverError(f"browser: Playwright's Chromium is not there; install one, {GIVE}")
    return found
