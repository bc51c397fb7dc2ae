"""nginx on loopback, as the server for benchmarks."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_CONFIG = """daemon off; worker_processes 1; pid {root}/nginx.pid; error_log {root}/error.log crit;
{user}
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000; keepalive_timeout 60s; sendfile on; tcp_nopush on;
  types {{ text/html html; text/plain txt; }}
  client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c;
  uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;
  log_format tls "$ssl_session_reused $server_protocol $connection_requests";
  server {{ listen 0.0.0.0:{port}{tls} backlog=4096; root {root}/{pages};{rules} }}
}}
"""


class Certificate(NamedTuple):
    """A server's certificate and key, and the certificate of the authority that signed it."""

    file: Path
    key: Path
    authority: Path

    @classmethod
    def make(cls, folder: Path, names: Sequence[str]) -> Certificate:
        """Make an authority and a certificate for names such as ``IP:127.0.0.1`` with the openssl command."""
        new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=benchmark")
        authority, key, request, file = (folder / name for name in ("ca.pem", "site.key", "site.csr", "site.pem"))
        signer = ("-x509", "-days", "2", "-keyout", str(folder / "ca.key"), "-out", str(authority))
        named = ("-addext", f"subjectAltName={','.join(names)}", "-keyout", str(key), "-out", str(request))
        signed = ("-CA", str(authority), "-CAkey", str(folder / "ca.key"), "-days", "2", "-copy_extensions", "copy")
        for command in (
            ("req", *new, *signer),
            ("req", *new, *named),
            ("x509", "-req", "-in", str(request), *signed, "-out", str(file)),
        ):
            subprocess.run(["openssl", *command], check=True, capture_output=True, timeout=30)
        return cls(file, key, authority)

    def rules(self, log: Path) -> str:
        """Return directives for a server that resumes sessions and logs them."""
        return (
            f" ssl_certificate {self.file}; ssl_certificate_key {self.key}; ssl_protocols TLSv1.2 TLSv1.3;"
            f" ssl_session_cache shared:bench:20m; access_log {log} tls buffer=64k flush=1s;"
        )


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@contextmanager
def serving(
    root: Path, port: int, pages: str = "pages", rules: str = "", tls: Certificate | None = None
) -> Iterator[int]:
    """Serve a folder below ``root`` at every loopback address; ``$host`` in it is the requested host name.

    ``rules`` are additional nginx directives for the server. With a certificate it offers HTTP/2 and logs to tls.log:
    whether a connection resumed a session, its protocol, and the number of the request on it.
    """
    if tls is not None:
        rules += tls.rules(root / "tls.log")
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    user = "user root;" if os.geteuid() == 0 else ""
    config = _CONFIG.format(root=root, port=port, user=user, pages=pages, rules=rules, tls=" ssl http2" if tls else "")
    (root / "nginx.conf").write_text(config)
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
