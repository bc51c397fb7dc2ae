"""Static pages behind nginx, for whoever is measured."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PAGES = 200  # files; a page more or less makes no difference to whoever asks for it
PAGE_BYTES = 25_000
LARGE_BYTES = 3 * 2**20
ROBOTS = "User-agent: *\nDisallow: /private/\nDisallow: /*.print$\nAllow: /private/press/\n"

_CONFIG = """daemon off; worker_processes 1; pid {root}/nginx.pid; error_log {root}/error.log crit;
{user}
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000; keepalive_timeout 60s; sendfile on; tcp_nopush on;
  types {{ text/html html; text/plain txt; }}
  client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c;
  uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;
  server {{ listen 0.0.0.0:{port} backlog=4096; root {root}/pages; }}
}}
"""


def write(root: Path) -> None:
    """Write the pages: text of many words, so that it packs like a page and not like noise."""
    chance = random.Random(1)
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(2, 9))) for _ in range(3_000)]
    pages = root / "pages"
    pages.mkdir()
    for number in range(PAGES):
        text = f"<!DOCTYPE html><html><head><title>Page {number}</title></head><body>\n"
        while len(text) < PAGE_BYTES:
            link = f'<a href="/{chance.randrange(PAGES)}.html">{chance.choice(words)}</a>'
            text += f"<p>{' '.join(chance.choices(words, k=40))} {link}</p>\n"
        (pages / f"{number}.html").write_text(text)
    (pages / "large.html").write_bytes(b"<p>and so on</p>\n" * (LARGE_BYTES // 17))
    (pages / "robots.txt").write_text(ROBOTS)


@contextmanager
def serving(root: Path) -> Iterator[int]:
    """Serve the pages under every name at every loopback address, and give the port."""
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    user = "user root;" if os.geteuid() == 0 else ""
    (root / "nginx.conf").write_text(_CONFIG.format(root=root, port=port, user=user))
    server = subprocess.Popen([nginx, "-p", str(root), "-c", "nginx.conf"])
    try:
        _await(port)
        yield port
    finally:
        server.terminate()
        server.wait(10)


def _await(port: int) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("nginx did not start")
