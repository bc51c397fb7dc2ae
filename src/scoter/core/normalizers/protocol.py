"""The protocol normaliser: one scheme for all URLs of a host.

    www.example.org   https
    *.example.com     https

``*.`` stands for a domain and every host below it; the most specific line is taken. A URL with a port keeps its
scheme: what answers there is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.normalizers.names import NameTable
from scoter.core.normalizers.parts import split
from scoter.core.rule_lines import host_name, rule_lines, shown, two_words
from scoter.errors import RuleError

_WEB = frozenset({"http", "https"})


class ProtocolRules(Struct, frozen=True):
    """Which scheme the URLs of a host have."""

    table: NameTable

    def normalize(self, text: str) -> str:
        """Return the URL with its host's scheme."""
        parts = split(text)
        if parts is None or parts.port or parts.scheme.lower() not in _WEB:
            return text
        scheme = self.table.find(parts.name)
        return text if scheme is None else str(replace(parts, scheme=scheme))


def parse(lines: Iterable[str], source: str) -> ProtocolRules:
    """Read a rule file.

    >>> parse(["*.example.org https"], "protocols.txt").normalize("http://example.org/a")
    'https://example.org/a'
    """
    hosts: dict[str, str] = {}
    domains: dict[str, str] = {}
    for number, text in rule_lines(lines):
        name, scheme = two_words(text, "a host (or *.domain) and its protocol", source, number)
        if scheme.lower() not in _WEB:
            raise RuleError(f"the protocol {shown(scheme)} is neither http nor https", file=source, line=number)
        bare = host_name(name.removeprefix("*."), source, number)
        if name.startswith("*."):
            domains[bare] = scheme.lower()
        else:
            hosts[bare] = scheme.lower()
    return ProtocolRules(NameTable({**domains, **hosts}, domains))
