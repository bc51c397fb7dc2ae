"""Hosts: registered domains by the public suffix list, reversed names for sorting, IP addresses."""

from __future__ import annotations

import re
from functools import lru_cache

from publicsuffixlist import PublicSuffixList

HOST_CACHE = 65_536

# After WHATWG parsing an IPv4 address is always four decimal numbers, an IPv6 address always in brackets.
_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


def is_ip(host: str) -> bool:
    """Return whether a canonical host is an IP address.

    >>> is_ip("127.0.0.1"), is_ip("[::1]"), is_ip("1.example")
    (True, True, False)
    """
    return host.startswith("[") or _IPV4.fullmatch(host) is not None


@lru_cache(maxsize=HOST_CACHE)
def registered_domain(host: str) -> str:
    """Return the registered domain of a host; an IP address or a bare suffix is returned unchanged.

    >>> registered_domain("www.bbc.co.uk"), registered_domain("10.0.0.1"), registered_domain("localhost")
    ('bbc.co.uk', '10.0.0.1', 'localhost')
    """
    if is_ip(host):
        return host
    name = host.removesuffix(".")
    return _suffixes().privatesuffix(name) or name


@lru_cache(maxsize=HOST_CACHE)
def public_suffix(host: str) -> str:
    """Return the public suffix of a host, or an empty string for an IP address.

    >>> public_suffix("www.bbc.co.uk"), public_suffix("10.0.0.1")
    ('co.uk', '')
    """
    return "" if is_ip(host) else _suffixes().publicsuffix(host.removesuffix(".")) or ""


def is_known_suffix(name: str) -> bool:
    """Return whether the public suffix list has rules for a top-level domain.

    >>> is_known_suffix("uk"), is_known_suffix("invalid")
    (True, False)
    """
    return _suffixes().publicsuffix("a." + name, accept_unknown=False) is not None


def is_below_known_suffix(name: str) -> bool:
    """Return whether a name is a registered domain under a listed suffix, or a host in one.

    >>> is_below_known_suffix("bbc.co.uk"), is_below_known_suffix("co.uk"), is_below_known_suffix("a.invalid")
    (True, False, False)
    """
    return _suffixes().privatesuffix(name, accept_unknown=False) is not None


def is_public_name(host: str) -> bool:
    """Return whether a host name may be in the public DNS: whether the public suffix list knows its ending.

    >>> is_public_name("wiki.example.com"), is_public_name("wiki.corp"), is_public_name("localhost")
    (True, False, False)
    """
    name = host.removesuffix(".")
    if name == "home.arpa" or name.endswith(".home.arpa"):  # RFC 8375: of home networks, although listed
        return False
    if name.endswith((".example", ".invalid")):  # RFC 6761: nobody's, in any network
        return True
    return _suffixes().publicsuffix(name, accept_unknown=False) is not None


@lru_cache(maxsize=HOST_CACHE)
def reversed_host(host: str) -> str:
    """Return a host's labels in reverse order, so that the hosts of a domain sort together.

    >>> reversed_host("www.example.com"), reversed_host("127.0.0.1")
    ('com,example,www', '127.0.0.1')
    """
    return host if is_ip(host) else ",".join(reversed(host.removesuffix(".").split(".")))


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
