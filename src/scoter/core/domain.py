"""Hosts: registered domains by the public suffix list, reversed names for sorting, IP literals."""

from __future__ import annotations

import re
from functools import lru_cache

from publicsuffixlist import PublicSuffixList

HOST_CACHE = 65_536

# After WHATWG parsing an IPv4 address is always four decimal numbers, an IPv6 address always in brackets.
_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


def is_ip(host: str) -> bool:
    """Tell whether a canonical host is an IP address.

    >>> is_ip("127.0.0.1"), is_ip("[::1]"), is_ip("1.example")
    (True, True, False)
    """
    return host.startswith("[") or _IPV4.fullmatch(host) is not None


@lru_cache(maxsize=HOST_CACHE)
def registered_domain(host: str) -> str:
    """Return the part of a host that somebody registered; an IP address or a bare suffix is its own.

    >>> registered_domain("www.bbc.co.uk"), registered_domain("10.0.0.1"), registered_domain("localhost")
    ('bbc.co.uk', '10.0.0.1', 'localhost')
    """
    if is_ip(host):
        return host
    name = host.removesuffix(".")
    return _suffixes().privatesuffix(name) or name


@lru_cache(maxsize=HOST_CACHE)
def public_suffix(host: str) -> str:
    """Return the public suffix of a host, or nothing for an IP address.

    >>> public_suffix("www.bbc.co.uk"), public_suffix("10.0.0.1")
    ('co.uk', '')
    """
    return "" if is_ip(host) else _suffixes().publicsuffix(host.removesuffix(".")) or ""


@lru_cache(maxsize=HOST_CACHE)
def reversed_host(host: str) -> str:
    """Return a host's labels from the top down, so that a sort brings a domain's hosts together.

    >>> reversed_host("www.example.com"), reversed_host("127.0.0.1")
    ('com,example,www', '127.0.0.1')
    """
    return host if is_ip(host) else ",".join(reversed(host.removesuffix(".").split(".")))


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
