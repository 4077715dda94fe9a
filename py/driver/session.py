"""A server, a browser and one booted page: what run, finetune, bench and the tests share.

Playwright lives on a thread of its own, so that the main thread can hear Ctrl-C.
"""

import asyncio
import dataclasses
import json
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, async_playwright
from playwright.async_api import Error as PlaywrightError

from . import browser, site
from .paths import PYODIDE, PYODIDE_NUMPY
from .say import DriverError, Lost
from .server import Server

BOOT_SECONDS = 240  # 10 s on a quiet machine; far more when all cores are busy
Event = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Result:
    """How a script ended."""

    stdout: str
    stderr: str
    ok: bool
    status: int
    error: str  # the traceback


class Session:
    """Use as a context manager. `on_event` hears each event, on another thread."""

    def __init__(
        self,
        *,
        pyodide: str = PYODIDE,
        isolated: bool = True,
        headed: bool = False,
        on_event: Callable[[Event], None] | None = None,
    ):
        config = site.config(site.build(numpy=pyodide == PYODIDE_NUMPY), pyodide)
        self._program = browser.ensure()
        self._headed = headed
        self.on_event = on_event
        self._texts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self.server = Server(config, isolated=isolated)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        try:
            self.versions = self.start(self._open()).result()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Runs on the browser's thread; the future's result() can be left by Ctrl-C."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, source: str, *arguments: Any) -> Any:
        """Calls a JavaScript function, given as source, in the page."""
        return self.start(self.evaluate(source, *arguments)).result()

    def add_file(self, path: Path, name: str | None = None) -> str:
        """Shows a file to Python; its path there."""
        name = name or path.name
        self.server.files[name] = path.resolve()
        self.call("([name]) => driver.call('addFile', name, `/files/${encodeURIComponent(name)}`)",
            name)  # fmt: skip
        return f"/files/{name}"

    def run_python(
        self,
        code: str,
        argv: Iterable[str] = (),
        files: Iterable[Path] = (),
        filename: str = "script.py",
    ) -> Result:
        """Runs a script to its end."""
        for path in files:
            self.add_file(path)
        return self.start_python(code, argv, filename).result()

    def start_python(self, code: str, argv: Iterable[str], filename: str) -> Future[Result]:
        """Starts a script; see run_python."""

        async def work() -> Result:
            self._texts = {"stdout": [], "stderr": []}
            options = {"argv": list(argv), "filename": filename}
            source = "([code, options]) => driver.call('run', code, options)"
            end = await self.evaluate(source, code, options)
            out, err = ("".join(self._texts[name]) for name in ("stdout", "stderr"))
            return Result(out, err, end["ok"], end["status"], end["error"])

        return self.start(work())

    def evaluate_python(self, code: str, data: Any = None, seconds: float | None = None) -> Any:
        """Runs statements and returns the last expression's value; `data` is theirs to read.

        Both cross as JSON, so several MB are fine. A Python exception becomes a DriverError;
        so does an answer that takes longer than `seconds`, and then the page is of no more use.
        """
        source = "([code, data]) => driver.call('evaluate', code, data)"
        try:
            end = self.start(self.evaluate(source, code, json.dumps(data))).result(seconds)
        except TimeoutError:
            raise Lost(f"page: no answer in {seconds:.0f} s") from None
        if not end["ok"]:
            raise DriverError(f"python: {end['error'].strip()}")
        return end["value"]

    def interrupt(self, force: bool = False) -> None:
        """Ctrl-C for the script; `force` when the first was not heard."""
        self.start(self.evaluate("([force]) => driver.interrupt(force)", force))

    def screenshot(self, selector: str, path: Path) -> None:
        """One element of the page, as a PNG."""
        self.start(self.page.locator(selector).screenshot(path=path)).result()

    def save_out(self, folder: Path) -> list[str]:
        """Brings what Python wrote under /out into the folder; the names."""
        self.server.out = folder
        return self.call("() => driver.saveOut()")

    def clear_out(self) -> None:
        self.call("() => driver.call('clearOut')")

    def close(self) -> None:
        try:
            self.start(self._close()).result(timeout=10)
        except (TimeoutError, PlaywrightError):
            pass  # the browser goes with Playwright's process
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self.server.close()

    async def _open(self) -> dict[str, str]:
        self._lost: asyncio.Future[str] = self._loop.create_future()
        self._playwright = await async_playwright().start()
        self._browser = await self._launch()
        self._browser.on("disconnected", lambda _: self._lose("browser: it ended by itself"))
        self.page: Page = await self._browser.new_page(device_scale_factor=2)
        self.page.on("crash", lambda _: self._lose("browser: the page crashed"))
        self.page.on("close", lambda _: self._lose("browser: the page was closed"))
        await self.page.expose_function("driverEvents", self._hear)
        await self.page.goto(self.server.url)
        boot = self.evaluate("() => driver.boot()")
        try:
            return await asyncio.wait_for(boot, BOOT_SECONDS)
        except TimeoutError:
            problem = f"page: Python did not start in {BOOT_SECONDS} s; run it again"
            raise DriverError(problem) from None

    async def _launch(self) -> Browser:
        try:
            return await self._playwright.chromium.launch(
                executable_path=self._program,
                headless=not self._headed,
                args=browser.flags(),
                handle_sigint=False,  # Ctrl-C is for the script
            )
        except PlaywrightError as problem:
            last = [line for line in str(problem).splitlines() if "[pid=" in line and "err" in line]
            raise DriverError(
                f"browser: {self._program} did not start; try it by hand, {browser.GIVE}\n"
                + "\n".join(["    " + line.strip() for line in last[-5:]])
            ) from None

    async def _close(self) -> None:
        if hasattr(self, "_browser"):
            await self._browser.close()
        if hasattr(self, "_playwright"):
            await self._playwright.stop()

    async def evaluate(self, source: str, *arguments: Any) -> Any:
        """call() for the browser's thread: a lost browser ends it, it never hangs."""
        work = asyncio.ensure_future(self.page.evaluate(source, list(arguments)))
        await asyncio.wait({work, self._lost}, return_when=asyncio.FIRST_COMPLETED)
        if work.done() and work.exception() is None:
            return work.result()
        # the reason comes a moment after the failure it causes
        await asyncio.wait({self._lost}, timeout=0 if not work.done() else 0.5)
        if self._lost.done():
            work.cancel()
            raise Lost(f"{self._lost.result()}; run it again, with less memory if it comes back")
        raise DriverError(_first_line(work.exception()))

    def _lose(self, reason: str) -> None:
        if not self._lost.done():
            self._lost.set_result(reason)

    def _hear(self, batch: str) -> None:
        for event in json.loads(batch):
            if event["type"] in self._texts:
                self._texts[event["type"]].append(event["text"])
            if self.on_event:
                self.on_event(event)


def _first_line(problem: object) -> str:
    """Playwright's words less its own prefix and the JavaScript stack."""
    text = str(problem).removeprefix("Page.evaluate: ").removeprefix("Error: ")
    return text.split("\n    at ")[0]
