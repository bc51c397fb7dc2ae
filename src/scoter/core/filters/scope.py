"""Where a crawl goes: the hosts or registered domains of its seeds.

A line is ``host NAME`` or ``domain NAME``. The filter domain would take a host's name for its whole domain as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from scoter.core.filters.lines import host_name, rule_lines
from scoter.core.url import Url
from scoter.errors import RuleError

KINDS = ("host", "domain")


class ScopeRules(Struct, frozen=True):
    """The names, by kind."""

    hosts: frozenset[str]
    domains: frozenset[str]

    def keeps(self, url: Url) -> bool:
        return url.host in self.hosts or (bool(self.domains) and url.domain in self.domains)

    def explain(self, url: Url) -> str:
        if url.host in self.hosts:
            return f"host {url.host}"
        return f"domain {url.domain}" if url.domain in self.domains else f"the crawl does not go to {url.domain}"


def parse(lines: Iterable[str], source: str) -> ScopeRules:
    """Read the names.

    >>> from scoter.core.url import canonical
    >>> parse(["domain example.org"], "scope.txt").keeps(canonical("https://www.example.org/"))
    True
    """
    found: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for number, text in rule_lines(lines):
        kind, _, name = text.partition(" ")
        if kind not in found:
            raise RuleError(f"{kind!r} is neither host nor domain", file=source, line=number)
        found[kind].add(host_name(name.strip(), source, number))
    return ScopeRules(frozenset(found["host"]), frozenset(found["domain"]))
