"""The host normaliser: one host in another's place.

    example.org     www.example.org
    *.example.com   www.example.com

``*.`` stands for every host below a domain, not for the domain itself; the most specific line is taken.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.normalizers.names import NameTable
from scoter.core.normalizers.parts import split
from scoter.core.rule_lines import host_name, rule_lines, two_words


class HostRules(Struct, frozen=True):
    """Which host stands for which."""

    table: NameTable

    def normalize(self, text: str) -> str:
        """Return the URL with its host replaced, port and all else as they are."""
        parts = split(text)
        target = None if parts is None else self.table.find(parts.name)
        return text if parts is None or target is None else str(replace(parts, host=target))


def parse(lines: Iterable[str], source: str) -> HostRules:
    """Read a rule file.

    >>> parse(["*.example.org example.org"], "hosts.txt").normalize("http://www.example.org/a")
    'http://example.org/a'
    """
    hosts: dict[str, str] = {}
    domains: dict[str, str] = {}
    for number, text in rule_lines(lines):
        name, target = two_words(text, "a host (or *.domain) and the host to put in its place", source, number)
        table = domains if name.startswith("*.") else hosts
        table[host_name(name.removeprefix("*."), source, number)] = host_name(target, source, number)
    return HostRules(NameTable(hosts, domains))
