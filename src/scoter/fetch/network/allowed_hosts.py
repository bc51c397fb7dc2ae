"""Hosts that ``fetch.allow_hosts`` exempts from the guard, each at one port.

An entry exempts the port. It exempts the address only if the entry itself shows that it is not public: an IP address,
``localhost`` (which must then be a loopback address), or a name that is not in the public DNS. Anybody can let a public
name resolve to an address of our network, so for those only ``fetch.allow_networks`` allows it. The addresses of
metadata services are never exempt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, TypeAlias

from scoter.core.addresses import classify, is_metadata, unmapped
from scoter.core.domain import is_ip, is_public_name
from scoter.core.url import host_of
from scoter.errors import ConfigError

Address: TypeAlias = IPv4Address | IPv6Address

WEB_PORTS: Final = {"http": 80, "https": 443}
_ENTRY = re.compile(r"(?P<host>\[[^\[\]]+\]|[^\s:\[\]/*]+):(?P<port>[0-9]{1,5})", re.ASCII)
_LOOPBACK: Final = "loopback"


class AllowedHosts:
    """The exempt hosts, and the addresses that exempt names were last found at.

    >>> hosts = AllowedHosts(["localhost:8000"])
    >>> hosts.has("localhost", 8000), hosts.has("localhost", 22), hosts.admits_socket(ip_address("127.0.0.1"), 8000)
    (True, False, False)
    >>> hosts.admits_answer("localhost", ip_address("127.0.0.1"))
    True
    >>> hosts.note_answer("localhost", ["127.0.0.1"])
    >>> hosts.admits_socket(ip_address("127.0.0.1"), 8000), hosts.admits_socket(ip_address("127.0.0.1"), 22)
    (True, False)
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self._origins = frozenset(_origin(entry) for entry in entries)
        self._names = {host: host for host, _ in self._origins if not is_ip(host) and not is_public_name(host)}
        self._sockets = {(_address(host), port) for host, port in self._origins if is_ip(host)}
        self._answers: dict[str, frozenset[Address]] = {}

    def __repr__(self) -> str:
        return f"AllowedHosts({', '.join(sorted(f'{host}:{port}' for host, port in self._origins))})"

    def has(self, host: str, port: int | None) -> bool:
        """Return whether a host, as in canonical URLs, is exempt at a port."""
        return (host.removesuffix("."), port) in self._origins

    def admits_literal(self, host: str, port: int | None) -> bool:
        """Return whether an IP address in a URL is exempt at a port."""
        return self.has(host, port) and not is_metadata(_address(host))

    def admits_answer(self, name: str, address: Address) -> bool:
        """Return whether a name may resolve to an address that is not public. At which ports, the socket shows."""
        if name not in self._names or is_metadata(address):
            return False
        return classify(address) == _LOOPBACK if _is_localhost(name) else True

    def note_answer(self, name: str, addresses: Sequence[str]) -> None:
        """Remember the addresses of an exempt name, which the guard has accepted."""
        if name in self._names:
            self._answers[name] = frozenset(unmapped(ip_address(each)) for each in addresses)

    def admits_socket(self, address: Address, port: int) -> bool:
        """Return whether a socket may be opened: an exempt address at its port, or one that an exempt name has."""
        if not port or not self._origins or is_metadata(address):
            return False
        return (address, port) in self._sockets or any(
            address in found and (name, port) in self._origins for name, found in self._answers.items()
        )


def is_private(host: str) -> bool:
    """Return whether a host itself shows that it is not public: by its address, or as no name of the public DNS.

    >>> is_private("10.1.2.3"), is_private("localhost"), is_private("wiki.corp"), is_private("example.org")
    (True, True, True, False)
    """
    return bool(classify(host.strip("[]"))) if is_ip(host) else not is_public_name(host)


def _is_localhost(name: str) -> bool:
    return name == "localhost" or name.endswith(".localhost")  # RFC 6761 6.3


def _address(host: str) -> Address:
    return unmapped(ip_address(host.strip("[]")))


def _origin(entry: str) -> tuple[str, int]:
    found = _ENTRY.fullmatch(entry.strip())
    host = host_of(found["host"]) if found else ""
    port = int(found["port"]) if found else 0
    if not host or not 1 <= port <= 65_535:
        raise ConfigError(
            f'"{entry}" is not a host and a port',
            where="fetch.allow_hosts",
            hint='An entry looks like "localhost:8000", "10.1.2.3:80" or "[::1]:8080".',
        )
    return host, port
