"""A site on a port of loopback, as its author would preview it, that counts its requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LocalSite(ThreadingHTTPServer):
    """Pages by path; a value that begins with ``http`` is the target of a redirect."""

    daemon_threads = True

    def __init__(self, pages: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages = dict(pages)
        self.requests: list[str] = []

    def url(self, path: str = "/", host: str = "localhost") -> str:
        return f"http://{host}:{self.server_port}{path}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LocalSite

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        page = self.server.pages.get(self.path)
        moves = page is not None and page.startswith("http")
        body = (page or "").encode()
        self.send_response(404 if page is None else 302 if moves else 200)
        self.send_header("Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if moves:
            self.send_header("Location", str(page))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write no log."""


@contextmanager
def local_site(pages: Mapping[str, str]) -> Iterator[LocalSite]:
    """Serve pages on a free port of loopback."""
    with LocalSite(pages) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        try:
            yield site
        finally:
            site.shutdown()
