"""Serves .cache/site on 127.0.0.1, /files/NAME to the page, and takes what it sends to /out."""

import contextlib
import http.server
import json
import threading
import urllib.parse
from pathlib import Path
from typing import Any, BinaryIO

from .paths import SITE

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".json": "application/json",
    ".map": "application/json",
    ".wasm": "application/wasm",
}
CHUNK = 1 << 20


class Server(http.server.ThreadingHTTPServer):
    """Starts at once. `config` tells the page what to boot; without `out` nothing is written."""

    daemon_threads = True

    def __init__(self, config: dict[str, Any], port: int = 0, isolated: bool = True):
        super().__init__(("127.0.0.1", port), Handler)
        self.config = config
        self.isolated = isolated
        self.out: Path | None = None
        self.files: dict[str, Path] = {}
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that hangs up in the middle is no news."""

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        if self.path == "/config.json" and self._local():
            data = json.dumps(self.server.config).encode()
            self._end(200, {"Content-Type": TYPES[".json"]}, len(data))
            self.wfile.write(data)
            return None
        path = self._path()
        if path is None or not path.is_file():
            return self._end(404)
        size = path.stat().st_size
        span = self._span(size)
        if span is None:
            return self._end(416, {"Content-Range": f"bytes */{size}"})
        start, end = span
        headers = {"Content-Type": TYPES.get(path.suffix, "application/octet-stream")}
        headers["Accept-Ranges"] = "bytes"
        partial = "Range" in self.headers
        if partial:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        self._end(206 if partial else 200, headers, end - start)
        if self.command == "GET":
            with path.open("rb") as file:
                file.seek(start)
                self._send(file, end - start)

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        """A result file. Another site's page cannot: its browser asks first, and we never allow."""
        name = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        out = self.server.out
        size = int(self.headers.get("Content-Length", 0))
        target = None if out is None else _inside(out, name.removeprefix("/out/"))
        if not name.startswith("/out/") or target is None or not self._local():
            self.close_connection = True
            return self._end(403)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".part")
        with part.open("wb") as file:
            while size > 0 and (data := self.rfile.read(min(size, CHUNK))):
                size -= file.write(data)
        if size:
            part.unlink()
            return self._end(400)
        part.replace(target)
        return self._end(204)

    def _path(self) -> Path | None:
        name = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).lstrip("/")
        if not self._local():
            return None
        if name.startswith("files/"):
            return self.server.files.get(name.removeprefix("files/"))
        return _inside(SITE, name or "index.html")

    def _local(self) -> bool:
        """Not a foreign name that was made to point here."""
        host = self.headers.get("Host", "").rsplit(":", 1)[0]
        return host in ("127.0.0.1", "localhost")

    def _span(self, size: int) -> tuple[int, int] | None:
        """First byte and the byte after the last; None if out of range."""
        value = self.headers.get("Range", "")
        if not value.startswith("bytes=") or "," in value:
            return 0, size
        first, _, last = value.removeprefix("bytes=").partition("-")
        with contextlib.suppress(ValueError):
            if not first:
                return max(size - int(last), 0), size
            start, end = int(first), min(int(last) + 1, size) if last else size
            if start < end:
                return start, end
        return None

    def _send(self, file: BinaryIO, count: int) -> None:
        while count > 0 and (data := file.read(min(count, CHUNK))):
            count -= self.wfile.write(data)

    def _end(self, code: int, headers: dict[str, str] | None = None, size: int = 0) -> None:
        self.send_response(code)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(size))
        self.send_header("Cache-Control", "no-store")
        if self.server.isolated:
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the terminal belongs to the script."""


def _inside(folder: Path, name: str) -> Path | None:
    """The path of this name, or None if it leads out of the folder."""
    path = (folder / name).resolve()
    return path if path.is_relative_to(folder.resolve()) and path != folder.resolve() else None
