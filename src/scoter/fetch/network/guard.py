"""The guard: which schemes, ports and addresses may be asked. It protects against request forgery (SSRF).

A page may link to anything, and a name may resolve to anything. ``check_url`` checks what the URL alone shows,
``check_address`` what a name resolves to, and ``open_socket_check`` the address of every socket when it is opened.

Three settings allow more. ``fetch.allow_networks`` names networks. ``fetch.allow_hosts`` names single hosts with their
port (``allowed_hosts.py``). ``fetch.connect_to`` sends names to an address and port of the operator's choice: these are
exempt at the socket, and only there. A URL or a DNS answer with the same address is checked like any other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import translate
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, TypeAlias

from msgspec import Struct

from scoter.config import Config
from scoter.core.addresses import NOT_AN_ADDRESS, classify, is_metadata, unmapped
from scoter.core.domain import is_ip
from scoter.core.reply import Reason
from scoter.core.url import Url, canonical
from scoter.errors import ConfigError, UrlError
from scoter.fetch.network.allowed_hosts import WEB_PORTS, AllowedHosts, is_private

Address: TypeAlias = IPv4Address | IPv6Address

CACHE = 65_536
ANY_PORT = 0

_RULE = re.compile(
    r"(?P<name>[^\s:=\[\]]+):(?P<port>\*|[0-9]{0,5})"
    r"=(?P<address>\[[^\[\]]+\]|[^\s:=\[\]]+):(?P<to>[0-9]{1,5})",
    re.ASCII,
)


class GuardRefusal(Struct, frozen=True):
    """Why a URL must not be fetched."""

    reason: Reason
    detail: str


class Guard:
    """Refuses URLs and addresses that must not be asked."""

    def __init__(self, config: Config, schemes: Collection[str] = ("http", "https")) -> None:
        fetch = config.fetch
        self._schemes = frozenset(schemes)
        self._ports = fetch.allow_ports
        self._networks = tuple(ip_network(network) for network in fetch.allow_networks)
        self._hosts = AllowedHosts(fetch.allow_hosts)
        self._rules = tuple(ConnectTo.read(rule) for rule in fetch.connect_to)
        self._targets = frozenset((unmapped(ip_address(rule.address)), rule.to) for rule in self._rules)
        self._why_refused = lru_cache(maxsize=CACHE)(self._check_address)
        self._is_target = lru_cache(maxsize=CACHE)(self._is_connect_to_target)
        self._refusals: dict[str, GuardRefusal | None] = {}

    def __repr__(self) -> str:
        return f"Guard({len(self._networks)} networks allowed, {len(self._rules)} connect_to rules)"

    def check_url(self, url: Url) -> GuardRefusal | None:
        """Return why a URL must not be fetched, as far as is known before its host is resolved."""
        # Up to the path (or a little further if the host is one letter); faster than parsing the URL.
        text = url.text
        end = text.find("/", len("https://"))
        origin = text[:end] if end > 0 else text
        if origin in self._refusals:
            return self._refusals[origin]
        if len(self._refusals) >= CACHE:
            self._refusals.clear()
        refusal = self._refusals[origin] = self._check_origin(url.scheme, url.host, url.port)
        return refusal

    def exemption_for(self, url: Url) -> str:
        """Return the entry of ``fetch.allow_hosts`` that a URL needs, as far as that is known without DNS, or ''."""
        port, host = url.port or WEB_PORTS.get(url.scheme), url.host.removesuffix(".")
        if port is None or not host or self._hosts.has(host, port) or self.override(host, port) is not None:
            return ""
        if is_ip(host) and is_metadata(ip_address(host.strip("[]"))):
            return ""
        is_usual = any(port in allowed for allowed in self._ports)
        return "" if is_usual and not is_private(host) else f"{host}:{port}"

    def check_address(self, address: str, port: int = 0) -> str:
        """Return why an address must not be connected to; empty if it may be.

        With a port, the question is about a socket: then the targets of ``fetch.connect_to`` are allowed.
        """
        why = self._why_refused(address)
        if why and port and (self._is_target(address, port) or self._is_of_allowed_host(address, port)):
            return ""
        return why

    def check_answer(self, name: str, addresses: Sequence[str]) -> tuple[str, str] | None:
        """Return the first address of a name that must not be connected to, and why."""
        for address in addresses:
            why = self.check_address(address)
            if why and (why == NOT_AN_ADDRESS or not self._hosts.admits_answer(name, unmapped(ip_address(address)))):
                return address, why
        self._hosts.note_answer(name, addresses)
        return None

    def override(self, host: str, port: int) -> tuple[str, int] | None:
        """Return where ``fetch.connect_to`` sends a host and port; never for an IP address."""
        if not self._rules or is_ip(host):
            return None
        name = host.lower().removesuffix(".")
        return next(((rule.address, rule.to) for rule in self._rules if rule.matches(name, port)), None)

    def open_socket_check(self, family: int, address: tuple[Any, ...]) -> str:
        """Return why a socket must not be opened, or an empty text; ``address`` is as for ``socket.connect``."""
        # Unix sockets have a path here, and other families other shapes: we never ask for those.
        match address:
            case (str() as host, int() as port, *_):
                return self.check_address(host, port)
            case _:
                return f"{NOT_AN_ADDRESS} (family {family})"

    def _check_origin(self, scheme: str, host: str, port: int | None) -> GuardRefusal | None:
        if scheme not in self._schemes:
            return GuardRefusal(Reason.REFUSED_SCHEME, f"no active protocol fetches {scheme}: URLs")
        # The default port of another scheme was allowed with its protocol; those of the web must be in the list.
        port = port or WEB_PORTS.get(scheme)
        is_allowed = self._hosts.has(host, port)
        if port is not None and not is_allowed and not any(port in allowed for allowed in self._ports):
            return GuardRefusal(Reason.REFUSED_PORT, f"port {port} is not in fetch.allow_ports")
        if is_allowed and is_ip(host) and self._hosts.admits_literal(host, port):
            return None
        if is_ip(host) and (why := self.check_address(host.strip("[]"))):
            return GuardRefusal(Reason.REFUSED_ADDRESS, f"{host} is not public: {why}")
        return None

    def _is_of_allowed_host(self, address: str, port: int) -> bool:
        try:
            return self._hosts.admits_socket(unmapped(ip_address(address)), port)
        except ValueError:
            return False

    def _is_connect_to_target(self, address: str, port: int) -> bool:
        try:
            return (unmapped(ip_address(address)), port) in self._targets
        except ValueError:
            return False

    def _check_address(self, address: str) -> str:
        why = classify(address)
        if not why or why == NOT_AN_ADDRESS:
            return why
        return "" if self._allowed(unmapped(ip_address(address))) else why

    def _allowed(self, address: Address) -> bool:
        # A metadata service hands out credentials: allow its address only if it is listed by itself.
        whole = is_metadata(address)
        return any(
            address in network and (not whole or network.prefixlen == network.max_prefixlen)
            for network in self._networks
        )


class ConnectTo(Struct, frozen=True):
    """One rule of ``fetch.connect_to``: hosts that match, at one port or any, are found at another address and port.

    >>> ConnectTo.read("*.example.org:80=127.0.0.1:8080").matches("www.example.org", 80)
    True
    """

    name: str
    port: int
    address: str
    to: int

    @classmethod
    def read(cls, text: str) -> ConnectTo:
        """Parse a rule."""
        found = _RULE.fullmatch(text)
        if found is None:
            raise _bad_rule(text, "does not have the form name:port=address:port")
        try:
            address = str(ip_address(found["address"].strip("[]")))
        except ValueError:
            raise _bad_rule(text, f"has the target {found['address']!r}, which is not an IP address") from None
        if is_ip(found["name"]):
            raise _bad_rule(text, "starts with an IP address; only host names can be redirected")
        port, to = int(found["port"].strip("*") or ANY_PORT), int(found["to"])
        if not 1 <= to <= 65_535 or not (port == ANY_PORT or port <= 65_535):
            raise _bad_rule(text, "has a port that is not between 1 and 65535")
        return cls(_as_in_urls(text, found["name"]), port, address, to)

    def matches(self, host: str, port: int) -> bool:
        """Tell whether the rule applies to a host name (lower case, no trailing dot) and port."""
        if self.port not in (ANY_PORT, port):
            return False
        return self.name in ("*", host) or _pattern(self.name).fullmatch(host) is not None


def _as_in_urls(rule: str, name: str) -> str:
    """Return a name pattern as URLs spell it: labels in other scripts become ASCII (IDNA)."""
    return ".".join(
        label.lower() if label.isascii() else _ascii(rule, label) for label in name.removesuffix(".").split(".")
    )


def _ascii(rule: str, label: str) -> str:
    # Part of a label cannot be converted.
    if not set("*?/").isdisjoint(label):
        raise _bad_rule(rule, f"mixes a wildcard and other scripts in the label {label!r}")
    try:
        return canonical(f"http://{label}/").host
    except UrlError:
        raise _bad_rule(rule, f"has the invalid label {label!r}") from None


def _bad_rule(text: str, what: str) -> ConfigError:
    return ConfigError(
        f'"{text}" {what}',
        where="fetch.connect_to",
        hint='A rule looks like "*.example.org:80=127.0.0.1:8080", with * for any name or port and IPv6 in brackets.',
    )


@lru_cache(maxsize=1_024)
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(translate(name))
