"""The normalisers with rules per host: host, protocol and slash.

*host* replaces one host by another, *protocol* gives all URLs of a host one scheme:

    example.org     www.example.org         www.example.org   https
    *.example.com   www.example.com         *.example.com     https

``*.`` stands for every host below a domain; *protocol* applies it to the domain itself as well. The most specific line
wins. A URL with a port keeps its scheme, since nobody knows what answers there.

*slash* decides whether the paths of a host end with a slash:

    www.example.org  +
    www.example.com  -

``+`` adds one, unless the path ends like a file name (``/a.html``); ``-`` removes it, except from ``/`` itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.normalizers.url_pieces import split_url
from scoter.core.rule_lines import RuleLine, rule_lines, shown

_SCHEMES = frozenset({"http", "https"})
_FILE_NAME = re.compile(r"\.[A-Za-z0-9]{1,5}\Z")


class NameTable(Struct, frozen=True):
    """Values for single hosts, and for all hosts below a domain."""

    hosts: dict[str, str]
    domains: dict[str, str]

    def put(self, line: RuleLine, name: str, value: str) -> None:
        """Set the value of a host, or of ``*.domain``."""
        table = self.domains if name.startswith("*.") else self.hosts
        table[line.host(name.removeprefix("*."))] = value

    def find(self, host: str) -> str | None:
        """Return the value of a host, or of the longest domain that it is in.

        >>> NameTable({}, {"example.org": "x"}).find("a.b.example.org")
        'x'
        """
        found = self.hosts.get(host)
        while found is None and "." in host and self.domains:
            host = host.partition(".")[2]
            found = self.domains.get(host)
        return found


class HostRules(Struct, frozen=True):
    """Which host replaces which."""

    table: NameTable

    def normalize(self, text: str) -> str:
        """Return the URL with its host replaced and everything else unchanged."""
        pieces = split_url(text)
        target = None if pieces is None else self.table.find(pieces.name)
        return text if pieces is None or target is None else str(replace(pieces, host=target))


def parse_hosts(lines: Iterable[str], source: str) -> HostRules:
    """Read the rule file of *host*.

    >>> parse_hosts(["*.example.org example.org"], "hosts.txt").normalize("http://www.example.org/a")
    'http://example.org/a'
    """
    table = NameTable({}, {})
    for line in rule_lines(lines, source):
        name, target = line.words(2, "a host (or *.domain) and its replacement")
        table.put(line, name, line.host(target))
    return HostRules(table)


class ProtocolRules(Struct, frozen=True):
    """The scheme of each host's URLs."""

    table: NameTable

    def normalize(self, text: str) -> str:
        """Return the URL with its host's scheme."""
        pieces = split_url(text)
        if pieces is None or pieces.port or pieces.scheme.lower() not in _SCHEMES:
            return text
        scheme = self.table.find(pieces.name)
        return text if scheme is None else str(replace(pieces, scheme=scheme))


def parse_protocols(lines: Iterable[str], source: str) -> ProtocolRules:
    """Read the rule file of *protocol*.

    >>> parse_protocols(["*.example.org https"], "protocols.txt").normalize("http://example.org/a")
    'https://example.org/a'
    """
    table = NameTable({}, {})
    for line in rule_lines(lines, source):
        name, scheme = line.words(2, "a host (or *.domain) and its protocol")
        if scheme.lower() not in _SCHEMES:
            raise line.error(f"the protocol {shown(scheme)} is neither http nor https")
        table.put(line, name, scheme.lower())
    return ProtocolRules(NameTable({**table.domains, **table.hosts}, table.domains))


class SlashRules(Struct, frozen=True):
    """Whether the paths of a host end with a slash."""

    hosts: Mapping[str, bool]

    def normalize(self, text: str) -> str:
        """Return the URL with or without its last slash."""
        pieces = split_url(text)
        wanted = None if pieces is None else self.hosts.get(pieces.name)
        if pieces is None or wanted is None or len(pieces.path) < 2:
            return text
        if not wanted:
            return str(replace(pieces, path=pieces.path.rstrip("/") or "/"))
        if pieces.path.endswith("/") or _FILE_NAME.search(pieces.path):
            return text
        return str(replace(pieces, path=pieces.path + "/"))


def parse_slashes(lines: Iterable[str], source: str) -> SlashRules:
    """Read the rule file of *slash*.

    >>> parse_slashes(["example.org +"], "slashes.txt").normalize("http://example.org/a?b")
    'http://example.org/a/?b'
    """
    hosts: dict[str, bool] = {}
    for line in rule_lines(lines, source):
        name, sign = line.words(2, "a host and + or -")
        if sign not in {"+", "-"}:
            raise line.error(f"expected + or -, not {shown(sign)}")
        hosts[line.host(name)] = sign == "+"
    return SlashRules(hosts)
