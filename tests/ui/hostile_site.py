"""A site whose titles, texts, URLs, headers and errors attack whoever shows them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

SCRIPT = "<script>alert('script')</script>"
IMAGE = "<img src=x onerror=alert('image')>"
ATTACK = f"\"'>{SCRIPT}{IMAGE}</title></textarea></iframe>"
REVERSED = "\u202egpj.exe"
LINKS = (f"/a?{quote(ATTACK)}", "/b/%3Csvg%20onload=alert(1)%3E", "/gone", "/error", "/text", "/long")

_PAGE = f"""<!doctype html><html lang="en"><head>
<title>&quot;&gt;&lt;script&gt;alert('title')&lt;/script&gt;&lt;img src=x onerror=alert('t')&gt; {REVERSED}</title>
<meta name="description" content="&lt;img src=x onerror=alert('description')&gt; {{{{7*7}}}} ${{alert(1)}}">
<meta property="og:image" content="javascript:alert('og')"><meta property="og:site_name" content="{SCRIPT}">
<meta http-equiv="refresh" content="0; url=javascript:alert('refresh')">
<base target="_top">
</head><body onload="alert('load')">
<script>alert('inline'); top.location = 'https://evil.example/'; parent.document.title = 'taken';</script>
<h1>&lt;b onmouseover=alert('h')&gt;A heading&lt;/b&gt;</h1>
<p id="seen">Distinctive words &lt;script&gt;alert('text')&lt;/script&gt; of an attacker.</p>
<a href="javascript:alert('link')">run</a>
{"".join(f'<a href="{link}">{SCRIPT.replace("<", "&lt;")}</a>' for link in LINKS)}
<form action="/taken" method="post"><button>Send</button></form>
<iframe src="javascript:parent.alert('frame')"></iframe><object data="x.swf"></object>
<svg onload="alert('svg')"></svg><img src="x" onerror="alert('img')">
</body></html>"""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/robots.txt":
            self._send(404, "text/plain", b"")
        elif self.path == "/gone":
            self._send(410, "text/html", SCRIPT.encode())
        elif self.path == "/error":
            self._send(500, "text/html", SCRIPT.encode(), message="<img src=x onerror=alert('reason')>")
        elif self.path == "/text":
            self._send(200, "text/plain; charset=utf-8", f"{SCRIPT}{IMAGE}".encode())
        elif self.path == "/long":
            self._send(200, "text/html", f"<title>{'W' * 5_000}</title><p>{'M' * 20_000}".encode())
        else:
            self._send(200, "text/html; charset=utf-8", _PAGE.encode())

    def _send(self, status: int, kind: str, body: bytes, message: str | None = None) -> None:
        self.send_response(status, message)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"<img src=x onerror=alert(1)>"')
        self.send_header("Server", SCRIPT)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the base class
        """Say nothing."""


@contextmanager
def hostile_site() -> Iterator[int]:
    """Serve the site; yield its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join(10)
