"""nginx on loopback, as the server for benchmarks."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CONFIG = """daemon off; worker_processes 1; pid {root}/nginx.pid; error_log {root}/error.log crit;
{user}
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000; keepalive_timeout 60s; sendfile on; tcp_nopush on;
  types {{ text/html html; text/plain txt; }}
  client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c;
  uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;
  server {{ listen 0.0.0.0:{port} backlog=4096; root {root}/{pages};{rules} }}
}}
"""


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@contextmanager
def serving(root: Path, port: int, pages: str = "pages", rules: str = "") -> Iterator[int]:
    """Serve a folder below ``root`` at every loopback address; ``$host`` in it is the requested host name.

    ``rules`` are additional nginx directives for the server.
    """
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    user = "user root;" if os.geteuid() == 0 else ""
    (root / "nginx.conf").write_text(_CONFIG.format(root=root, port=port, user=user, pages=pages, rules=rules))
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
