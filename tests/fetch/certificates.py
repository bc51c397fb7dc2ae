"""Certificates for tests, made by the openssl command: an authority, and valid and invalid server certificates."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="the openssl command makes the certificates")


class Authority:
    """Signs certificates in a folder of its own; ``file`` is what has to be trusted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.file = folder / "ca.pem"
        self._key = folder / "ca.key"
        self.self_signed("ca", "Test authority")

    def self_signed(self, name: str, host: str) -> ssl.SSLContext | None:
        """Make a certificate that nobody but itself vouches for."""
        key, certificate = self._folder / f"{name}.key", self._folder / f"{name}.pem"
        self._openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-keyout", str(key), "-out", str(certificate), "-subj", f"/CN={host}"),
        )
        return _context(certificate, key) if name != "ca" else None

    def sign(self, name: str, host: str, *, days: int = 2) -> ssl.SSLContext:
        """Make a certificate for a host; with a negative number of days it has expired."""
        key, request, certificate = (self._folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        self._openssl(
            *("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", str(key), "-out", str(request), "-subj", f"/CN={host}"),
            *("-addext", f"subjectAltName=DNS:{host}"),
        )
        self._openssl(
            *("x509", "-req", "-in", str(request), "-CA", str(self.file), "-CAkey", str(self._key)),
            *("-days", str(days), "-copy_extensions", "copy", "-out", str(certificate)),
        )
        return _context(certificate, key)

    def files(self, name: str) -> tuple[Path, Path]:
        """Return the certificate and the key that were made under a name."""
        return self._folder / f"{name}.pem", self._folder / f"{name}.key"

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=30)


def _context(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
