"""The configured proxy: which hosts go through it, its libcurl options, and the check of its sockets."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import pycurl
from msgspec import Struct

from scoter.config import Config
from scoter.errors import ConfigError
from scoter.fetch.network.guard import Guard

_DEFAULT_PORT = {"http": 8080, "socks": 1080}


class Proxy(Struct, frozen=True):
    """A proxy, and the hosts that are asked directly."""

    addresses: tuple[str, ...]
    port: int
    exceptions: tuple[str, ...]
    options: tuple[tuple[int, object], ...]

    @classmethod
    def of(cls, config: Config) -> Proxy | None:
        """Return the proxy of the settings, if any."""
        http = config.http
        if not http.proxy_host:
            return None
        port = http.proxy_port or _DEFAULT_PORT[http.proxy_type]
        # SOCKS5 with names resolved by the proxy: a closed network may know them only there.
        kind = pycurl.PROXYTYPE_SOCKS5_HOSTNAME if http.proxy_type == "socks" else pycurl.PROXYTYPE_HTTP
        addresses = _addresses(http.proxy_host)
        shown = f"[{addresses[0]}]" if ":" in addresses[0] else addresses[0]
        options: list[tuple[int, object]] = [(pycurl.PROXY, shown), (pycurl.PROXYPORT, port), (pycurl.PROXYTYPE, kind)]
        if http.proxy_username:
            user = f"{http.proxy_realm}\\{http.proxy_username}" if http.proxy_realm else http.proxy_username
            options += [
                (pycurl.PROXYUSERNAME, user),
                (pycurl.PROXYPASSWORD, http.proxy_password),
                (pycurl.PROXYAUTH, pycurl.HTTPAUTH_ANY),
            ]
        return cls(addresses, port, tuple(http.proxy_exception_list), tuple(options))

    def serves(self, host: str) -> bool:
        """Tell whether requests to a host go through the proxy."""
        return not any(fnmatchcase(host, pattern.lower()) for pattern in self.exceptions)

    def checked(self, guard: Guard) -> Callable[[int, tuple[Any, ...]], str]:
        """Return a socket check that allows the proxy itself and asks the guard about every other address."""

        def check(family: int, address: tuple[Any, ...]) -> str:
            if address[1:2] == (self.port,) and address[0] in self.addresses:
                return ""
            return guard.open_socket_check(family, address)

        return check


def _addresses(host: str) -> tuple[str, ...]:
    try:
        return (str(ipaddress.ip_address(host.strip("[]"))),)
    except ValueError:
        pass
    try:
        # Blocking is fine: this runs once, at the start, for a name that the operator wrote.
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigError(f"{host} cannot be resolved: {error.strerror or error}", where="http.proxy_host") from error
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))
