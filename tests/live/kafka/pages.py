"""A web server for a few pages of a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving(page: Callable[[str], bytes | str]) -> Iterator[int]:
    """Serve until the block ends; yield the port.

    ``page`` returns the HTML of a URL, or another URL to redirect to. There is no robots.txt.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = b"" if self.path == "/robots.txt" else page(f"http://{self._host}{self.path}")
            with suppress(OSError):  # who has asked may have been killed
                self._answer(found)

        @property
        def _host(self) -> str:
            return self.headers["Host"].partition(":")[0]

        def _answer(self, found: bytes | str) -> None:
            body = found if isinstance(found, bytes) else b""
            self.send_response(404 if self.path == "/robots.txt" else 200 if found is body else 302)
            if isinstance(found, str):
                self.send_header("Location", found)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
