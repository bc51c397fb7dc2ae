"""The address of a service, and the headers of every request to it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

import scoter
from scoter.errors import UsageError

DEFAULT_URL: Final = "http://127.0.0.1:8008"
_PATH: Final = re.compile(r"[!-~]*")
_PORTS: Final = {"http": 80, "https": 443}


class ServiceAddress(Struct, frozen=True, kw_only=True):
    """Where a service listens; ``prefix`` is the path at which a proxy serves it."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"


def parse_address(url: str) -> ServiceAddress:
    """Return the address that a URL names; ``http`` is the default scheme.

    >>> str(parse_address("localhost:8008")), str(parse_address("https://Links.example/crawl/"))
    ('http://localhost:8008', 'https://links.example/crawl')
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
        host = host.encode("idna").decode() if host and ":" not in host else host
    except ValueError as error:
        raise _invalid(url, str(error)) from None
    if parts.scheme not in _PORTS or not host:
        raise _invalid(url, "expected an http or https URL with a host")
    if parts.query or parts.fragment or parts.username is not None or not _PATH.fullmatch(parts.path):
        raise _invalid(url, "expected scheme, host, port and path only")
    return ServiceAddress(
        scheme=parts.scheme,
        host=host,
        port=_PORTS[parts.scheme] if port is None else port,
        prefix=parts.path.rstrip("/"),
    )


def request_headers(key: str) -> dict[str, str]:
    """Return the headers of every request; raise if the key contains characters that no key has."""
    found = {"User-Agent": f"scoter/{scoter.__version__}", "Accept-Encoding": "identity"}
    if key:
        if not key.isascii() or not key.isprintable() or " " in key:
            raise UsageError("the key contains invalid characters", hint="Check that you copied all of it.")
        found["Authorization"] = f"Bearer {key}"
    return found


def _invalid(url: str, why: str) -> UsageError:
    return UsageError(f"{url!r} is not the address of a service: {why}", hint=f"For example: {DEFAULT_URL}")
