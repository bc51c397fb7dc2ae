"""The filters that look at a URL's host: domain, domaindenylist and scope.

The files of *domain* and *domaindenylist* list hosts, registered domains, public suffixes or top-level domains, one
per line. *domain* keeps the URLs that match, *domaindenylist* drops them.

*scope* keeps a crawl on the hosts or registered domains of its seeds. A line is ``host NAME`` or ``domain NAME``; the
name ``file:`` stands for URLs without a host. (*domain* could not express this: it would take a host's name for its
domain as well.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from scoter.core.domain import public_suffix, registered_domain
from scoter.core.rule_lines import RuleLine, rule_lines
from scoter.core.url import Url, canonical
from scoter.errors import UrlError

FILES = "file:"


class DomainListRules(Struct, frozen=True):
    """The names of one file with their line numbers, and whether URLs that match are kept or dropped."""

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
        names = (host, registered_domain(host), suffix, suffix.rpartition(".")[2])
        return next((name for name in names if name in self.names), None)


def parse_domains(lines: Iterable[str], source: str, *, keep: bool = True) -> DomainListRules:
    """Read a list of names to keep or to drop.

    >>> from scoter.core.url import canonical
    >>> parse_domains(["example.org", "uk"], "rules.txt").explain(canonical("http://www.bbc.co.uk/"))
    'line 2: uk'
    """
    found: dict[str, int] = {}
    for line in rule_lines(lines, source):
        found.setdefault(line.host(line.text), line.number)
    return DomainListRules(found, keep)


class ScopeRules(Struct, frozen=True):
    """The hosts and registered domains of a crawl."""

    hosts: frozenset[str]
    domains: frozenset[str]

    def keeps(self, url: Url) -> bool:
        return url.host.removesuffix(".") in self.hosts or (bool(self.domains) and url.domain in self.domains)

    def explain(self, url: Url) -> str:
        host = url.host.removesuffix(".")
        if host in self.hosts:
            return f"host {host or FILES}"
        domain = url.domain or FILES
        return f"domain {domain}" if url.domain in self.domains else f"{domain} is outside the crawl's scope"


def parse_scope(lines: Iterable[str], source: str) -> ScopeRules:
    """Read a scope file.

    >>> from scoter.core.url import canonical
    >>> parse_scope(["domain example.org"], "scope.txt").keeps(canonical("https://www.example.org/"))
    True
    """
    found: dict[str, set[str]] = {"host": set(), "domain": set()}
    for line in rule_lines(lines, source):
        kind, _, name = line.text.partition(" ")
        if kind not in found:
            raise line.error(f"{kind!r} is neither host nor domain")
        found[kind].add(_scope_name(line, name.strip()))
    return ScopeRules(frozenset(found["host"]), frozenset(found["domain"]))


def _scope_name(line: RuleLine, name: str) -> str:
    if name == FILES:
        return ""
    try:
        # A seed may have any host, however odd; the scope written from it must load.
        url = canonical(f"http://{name}/")
    except UrlError:
        return line.host(name)
    return name.removesuffix(".") if url.host == name else line.host(name)
