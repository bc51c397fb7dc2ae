"""A small site over TLS on loopback, in the place of the site that a reader of the README would crawl."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.fetch.certificates import Authority

HOST = "www.example.org"
_BODY = "<!doctype html><html lang=en><title>{title}</title><h1>{title}</h1><p>{text}</p>"
_LINKS = '<nav><a href="/">Home</a> <a href="/lamp">Lamp</a> <a href="/visit">Visit</a> <a href="/shop">Shop</a></nav>'
PAGES = {
    "/": ("The lighthouse museum", "Three centuries of the lighthouse on the northern cape."),
    "/lamp": (
        "The lamp",
        "The lamp of the lighthouse burned whale oil until the keeper lit the first wick in 1871.",
    ),
    "/visit": ("Your visit", "The museum is open every day from ten to six, and the tower when the wind allows it."),
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        title, text = PAGES.get(self.path, ("", ""))
        body = (_BODY.format(title=title, text=text) + _LINKS).encode() if title else b""
        self.send_response(200 if title else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write no log."""


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Serve the site with a certificate made in the folder; yield the port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.daemon_threads = True
        context = Authority(folder).sign("site", HOST)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
