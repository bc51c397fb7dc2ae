"""The domain filters: names of hosts, registered domains, public suffixes or top-level domains, one a line.

The filter *domain* keeps what a name matches, *domaindenylist* drops it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from scoter.core.domain import public_suffix, registered_domain
from scoter.core.rule_lines import host_name, rule_lines
from scoter.core.url import Url


class DomainRules(Struct, frozen=True):
    """The names of one file with their lines, and whether they are wanted or unwanted."""

    names: Mapping[str, int]
    keep: bool

    def keeps(self, url: Url) -> bool:
        return (self._found(url) is not None) is self.keep

    def explain(self, url: Url) -> str:
        found = self._found(url)
        return "no name matches" if found is None else f"line {self.names[found]}: {found}"

    def _found(self, url: Url) -> str | None:
        host = url.host.removesuffix(".")
        suffix = public_suffix(host)
        for name in (host, registered_domain(host), suffix, suffix.rpartition(".")[2]):
            if name in self.names:
                return name
        return None


def parse(lines: Iterable[str], source: str) -> DomainRules:
    """Read the names to keep.

    >>> from scoter.core.url import canonical
    >>> parse(["example.org", "uk"], "rules.txt").explain(canonical("http://www.bbc.co.uk/"))
    'line 2: uk'
    """
    return DomainRules(_names(lines, source), keep=True)


def parse_denylist(lines: Iterable[str], source: str) -> DomainRules:
    """Read the names to drop."""
    return DomainRules(_names(lines, source), keep=False)


def _names(lines: Iterable[str], source: str) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for number, text in rule_lines(lines):
        found.setdefault(host_name(text, source, number), number)
    return found
