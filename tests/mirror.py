"""A web server that holds files, as a hub and a package index do, and can be made to misbehave."""

import hashlib
import io
import json
import re
import threading
import zipfile
from collections import Counter
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

BLOCK = 1 << 14


class Mirror:
    """Serves `files` by path, with ranges, and counts what it sends of each."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.sent: Counter[str] = Counter()
        self.cut: dict[str, list[int]] = {}  # bytes after which each next answer breaks off
        self.status: dict[str, int] = {}  # an answer in place of the file
        self.ranges = True
        self.lengths = True  # told before the bytes
        self.told: dict[str, int] = {}  # sizes that the hub claims, if not the true ones
        self.as_json = False  # the form of the index
        self.gate: threading.Event | None = None  # what an answer waits for, half-way
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror._answer(self)

            def do_HEAD(self) -> None:
                mirror._tell(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  its name there
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def publish(self, package: str, version: str, members: dict[str, bytes] | bytes) -> str:
        """Put a wheel of these members (or of these very bytes) on the index; its path."""
        data = members if isinstance(members, bytes) else wheel(list(members.items()))
        path = f"/packages/{package.replace('-', '_')}-{version}-py3-none-any.whl"
        self.files[path] = data
        return path

    def _answer(self, to: BaseHTTPRequestHandler) -> None:
        path = to.path
        if path in self.status:
            to.send_error(self.status[path])
        elif path.startswith("/simple/"):
            self._list(to, path.strip("/").split("/")[1])
        elif path not in self.files:
            to.send_error(404)
        else:
            self._send(to, path)

    def _tell(self, to: BaseHTTPRequestHandler) -> None:
        """What the hub says of a file before it is fetched."""
        data = self.files.get(to.path)
        if data is None or to.path in self.status:
            to.send_response(self.status.get(to.path, 404))
            to.send_header("Content-Length", "0")
        else:
            to.send_response(200)
            to.send_header("X-Repo-Commit", "0" * 40)
            to.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
            to.send_header("Content-Length", str(self.told.get(to.path, len(data))))
        to.end_headers()

    def _list(self, to: BaseHTTPRequestHandler, package: str) -> None:
        ours = {
            path: path.rpartition("/")[2]
            for path in self.files
            if path.startswith(f"/packages/{package.replace('-', '_')}-")
        }
        if not ours:
            to.send_error(404)
            return
        hashes = {path: hashlib.sha256(self.files[path]).hexdigest() for path in ours}
        if self.as_json:
            listed = [
                {"filename": name, "url": f"../..{path}", "hashes": {"sha256": hashes[path]},
                 "size": len(self.files[path])}
                for path, name in ours.items()
            ]  # fmt: skip
            kind, body = "application/vnd.pypi.simple.v1+json", json.dumps({"files": listed})
        else:
            kind = "text/html"
            body = "".join(
                f'<a href="{self.url}{path}#sha256={hashes[path]}" data-x="&gt;=3">{name}</a><br/>'
                for path, name in ours.items()
            )
        to.send_response(200)
        to.send_header("Content-Type", kind)
        to.send_header("Content-Length", str(len(body)))
        to.end_headers()
        to.wfile.write(body.encode())

    def _send(self, to: BaseHTTPRequestHandler, path: str) -> None:
        data, start = self.files[path], 0
        asked = re.match(r"bytes=(\d+)-", to.headers.get("Range", ""))
        if asked and self.ranges:
            start = int(asked[1])
            if start >= len(data):
                to.send_response(416)
                to.send_header("Content-Range", f"bytes */{len(data)}")
                to.send_header("Content-Length", "0")
                to.end_headers()
                return
            to.send_response(206)
            to.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            to.send_response(200)
        if self.lengths:
            to.send_header("Content-Length", str(len(data) - start))
        to.end_headers()
        cuts = self.cut.get(path)
        end = min(len(data), start + cuts.pop(0)) if cuts else len(data)
        try:
            for at in range(start, end, BLOCK):
                if self.gate and at > len(data) // 2:
                    self.gate.wait(20)
                block = data[at : min(at + BLOCK, end)]
                self.sent[path] += len(block)  # before: whoever has all of it may look at once
                to.wfile.write(block)
        except ConnectionError:
            pass  # whoever asked has gone
        to.close_connection = True


def wheel(members: Sequence[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()
