"""The rules of ``fetch.connect_to``: names that are found elsewhere than DNS says."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from ipaddress import ip_address

from msgspec import Struct

from scoter.core.domain import is_ip
from scoter.core.url import canonical
from scoter.errors import ConfigError, UrlError

ANY_PORT = 0

_RULE = re.compile(
    r"(?P<name>[^\s:=\[\]]+):(?P<port>\*|[0-9]{0,5})"
    r"=(?P<address>\[[^\[\]]+\]|[^\s:=\[\]]+):(?P<to>[0-9]{1,5})",
    re.ASCII,
)


class ConnectTo(Struct, frozen=True):
    """One rule of ``fetch.connect_to``: names that match, at a port or at any, are found at an address and port.

    >>> ConnectTo.read("*.example.org:80=127.0.0.1:8080").matches("www.example.org", 80)
    True
    """

    name: str
    port: int
    address: str
    to: int

    @classmethod
    def read(cls, text: str) -> ConnectTo:
        """Return the rule that a text stands for."""
        found = _RULE.fullmatch(text)
        if found is None:
            raise _bad_rule(text, "is not of the form name:port=address:port")
        try:
            address = str(ip_address(found["address"].strip("[]")))
        except ValueError:
            raise _bad_rule(text, f"leads to {found['address']!r}, which is not an IP address") from None
        if is_ip(found["name"]):
            raise _bad_rule(text, "starts with an IP address; only names are sent elsewhere")
        port, to = int(found["port"].strip("*") or ANY_PORT), int(found["to"])
        if not 1 <= to <= 65_535 or not (port == ANY_PORT or port <= 65_535):
            raise _bad_rule(text, "has a port that is not between 1 and 65535")
        return cls(_as_in_urls(text, found["name"]), port, address, to)

    def matches(self, host: str, port: int) -> bool:
        """Tell whether the rule speaks of a host name (lower-case, without trailing dot) at a port."""
        if self.port not in (ANY_PORT, port):
            return False
        return self.name in ("*", host) or _pattern(self.name).fullmatch(host) is not None


def _as_in_urls(rule: str, name: str) -> str:
    """Return a pattern of names as they stand in URLs, where other scripts than ours are written in ASCII."""
    return ".".join(
        label.lower() if label.isascii() else _ascii(rule, label) for label in name.removesuffix(".").split(".")
    )


def _ascii(rule: str, label: str) -> str:
    # A part of a label has no form of its own.
    if not set("*?/").isdisjoint(label):
        raise _bad_rule(rule, f"starts with a name of which {label!r} is no whole label")
    try:
        return canonical(f"http://{label}/").host
    except UrlError:
        raise _bad_rule(rule, f"starts with a name of which {label!r} is no label") from None


def _bad_rule(text: str, what: str) -> ConfigError:
    return ConfigError(
        f'"{text}" {what}',
        where="fetch.connect_to",
        hint='A rule looks like "*.example.org:80=127.0.0.1:8080", with * for any name or port and IPv6 in brackets.',
    )


@lru_cache(maxsize=1_024)
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(translate(name))
