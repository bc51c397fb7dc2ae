"""Where a crawl goes: the hosts or registered domains of its seeds.

A line is ``host NAME`` or ``domain NAME``; the name ``file:`` stands for URLs without a host. The filter domain would
take a host's name for its whole domain as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from scoter.core.rule_lines import host_name, rule_lines
from scoter.core.url import Url, canonical
from scoter.errors import RuleError, UrlError

KINDS = ("host", "domain")
FILES = "file:"


class ScopeRules(Struct, frozen=True):
    """The names, by kind."""

    hosts: frozenset[str]
    domains: frozenset[str]

    def keeps(self, url: Url) -> bool:
        return url.host.removesuffix(".") in self.hosts or (bool(self.domains) and url.domain in self.domains)

    def explain(self, url: Url) -> str:
        host = url.host.removesuffix(".")
        if host in self.hosts:
            return f"host {host or FILES}"
        domain = url.domain or FILES
        return f"domain {domain}" if url.domain in self.domains else f"the crawl does not go to {domain}"


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
        found[kind].add(_name(name.strip(), source, number))
    return ScopeRules(frozenset(found["host"]), frozenset(found["domain"]))


def _name(text: str, source: str, line: int) -> str:
    if text == FILES:
        return ""
    try:
        # Every host that a seed can have, however odd: what a seed brings in must not stop the crawl.
        url = canonical(f"http://{text}/")
    except UrlError:
        return host_name(text, source, line)
    return text.removesuffix(".") if url.host == text else host_name(text, source, line)
