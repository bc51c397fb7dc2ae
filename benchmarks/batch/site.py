"""A static site of many hosts behind nginx: every page links to others, and all can be reached from the first."""

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

HOSTS = 60
PAGES = 100
LINKS = 55
ROBOTS = "User-agent: *\nDisallow: /private/\nDisallow: /*.print$\nAllow: /private/press/\n"

_CONFIG = """daemon off; worker_processes 1; pid {root}/nginx.pid; error_log {root}/error.log crit;
{user}
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000; keepalive_timeout 60s; sendfile on; tcp_nopush on;
  types {{ text/html html; text/plain txt; }}
  client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c;
  uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;
  server {{ listen 0.0.0.0:{port} backlog=4096; root {root}/pages/$host; }}
}}
"""


def address(host: int) -> str:
    """Return the loopback address that stands for a host: nobody has to resolve it."""
    return f"127.0.1.{host + 1}"


def write(root: Path, port: int, page_bytes: int) -> None:
    """Write the pages: paragraphs of many words, with links to pages of the same host and of others."""
    chance = random.Random(1)
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(2, 9))) for _ in range(3_000)]
    per_link = page_bytes // LINKS
    for host in range(HOSTS):
        folder = root / "pages" / address(host)
        folder.mkdir(parents=True)
        (folder / "robots.txt").write_text(ROBOTS)
        for page in range(PAGES):
            text = f"<!DOCTYPE html><html><head><title>Page {page} of {host}</title></head><body>\n"
            for number in range(LINKS):
                target = f"/{(page * 7 + number * 3 + chance.randrange(3)) % PAGES}.html"
                if number % 4 == 0:
                    target = f"http://{address(chance.randrange(HOSTS))}:{port}/{chance.randrange(PAGES)}.html"
                link = f'<a href="{target}">{chance.choice(words)} {chance.choice(words)}</a>'
                filling = max(0, (per_link - len(link) - 20) // 6)
                text += f"<p>{' '.join(chance.choices(words, k=filling))} {link}</p>\n"
            (folder / f"{page}.html").write_text(text + "</body></html>\n")


@contextmanager
def serving(root: Path, page_bytes: int) -> Iterator[int]:
    """Serve the site, and give the port."""
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    write(root, port, page_bytes)
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
