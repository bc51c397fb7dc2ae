"""A site with a stylesheet, images, a frame, redirects, and links to pages that are never crawled."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

START = "http://www.pictures.test/"
CRAWLED = tuple(START + each for each in ("", "style", "more-style", "dot", "frame", "old", "new"))
_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR4nGP4z8AAQQxwFgBB0gX7h/C5SAAAAABJRU5ErkJggg=="
)
_PAGE = """<!doctype html><title>Pictures</title><link rel="stylesheet" href="/style" integrity="sha256-x" crossorigin>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<h1>Pictures</h1><img id="dot" src="dot" alt="a dot"><img id="lost" src="/lost" alt="lost">
<img id="outside" src="http://other.test/outside" srcset="http://other.test/outside 1x" alt="">
<p id="styled">Styled</p><p id="drawn" style="background:url(/dot)">Drawn</p>
<iframe id="frame" src="frame"></iframe>
<a href="/old" target="_blank">Moved</a> <a href="/never">Never</a> <a href="http://other.test/">Other</a>"""
_REPLIES = {
    "/": (200, "text/html; charset=utf-8", _PAGE.encode()),
    "/style": (200, "text/css", b"@import 'more-style'; #styled { background: url('dot') }"),
    "/more-style": (200, "text/css", b"#styled { color: rgb(1, 2, 3) }"),
    "/dot": (200, "image/png", _DOT),
    "/frame": (200, "text/html", b"<p>Framed</p>"),
    "/old": (301, "text/html", b""),
    "/new": (200, "text/html", b"<h1>The new place</h1><a href='/'>Back</a>"),
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, kind, body = _REPLIES.get(self.path, (404, "text/html", b""))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 301:
            self.send_header("Location", "/new")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the base class
        """Say nothing."""


@contextmanager
def illustrated_site() -> Iterator[int]:
    """Serve the site; yield its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join(10)
