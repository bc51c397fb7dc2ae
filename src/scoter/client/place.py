"""Where a service is, and the fields that every request to it has."""

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


class Place(Struct, frozen=True, kw_only=True):
    """The address of a service; ``prefix`` is a path below which a proxy serves it."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    @property
    def authority(self) -> str:
        """The value of the Host field."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"


def place(url: str) -> Place:
    """Return where a URL points.

    >>> str(place("localhost:8008")), str(place("https://Links.example/crawl/"))
    ('http://localhost:8008', 'https://links.example/crawl')
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
        host = host.encode("idna").decode() if host and ":" not in host else host
    except ValueError as error:
        raise _wrong(url, str(error)) from None
    if parts.scheme not in _PORTS or not host:
        raise _wrong(url, "it must be an http or https URL with a host")
    if parts.query or parts.fragment or parts.username is not None or not _PATH.fullmatch(parts.path):
        raise _wrong(url, "it must have no more than scheme, host, port and path")
    return Place(
        scheme=parts.scheme,
        host=host,
        port=_PORTS[parts.scheme] if port is None else port,
        prefix=parts.path.rstrip("/"),
    )


def fields(key: str) -> dict[str, str]:
    """Return the fields of every request; a key that could not be one is refused here."""
    found = {"User-Agent": f"scoter/{scoter.__version__}", "Accept-Encoding": "identity"}
    if key:
        if not key.isascii() or not key.isprintable() or " " in key:
            raise UsageError("the key has characters that no key has", hint="Was it copied whole?")
        found["Authorization"] = f"Bearer {key}"
    return found


def _wrong(url: str, why: str) -> UsageError:
    return UsageError(f"{url!r} is not the address of a service: {why}", hint=f"For example: {DEFAULT_URL}")
