"""The fast filter: looks up a URL's host and domains, then tries only the patterns listed for them.

    Host www.example.org
      DenyPath /private/
    Domain example.com          # and all its hosts
      DenyPath .*               # everything
    Domain .                    # every URL
      DenyPathQuery [?&]sid=

The order is: the host, its domains from the longest to the shortest, the rules for every URL. A URL that no pattern
matches is kept, unless it is too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from scoter.core.pattern import SMALL_SET_MEMORY, Hit, Pattern, PatternSet
from scoter.core.rule_lines import rule_lines, shown
from scoter.core.url import Url

_EVERYTHING = frozenset({".*", ".?"})


class LengthLimits(Struct, frozen=True):
    """The longest URL, path and query that are kept; ``None`` means no limit."""

    url: int | None = None
    path: int | None = None
    query: int | None = None

    def too_long(self, url: Url) -> str:
        """Return what is too long, or an empty string."""
        for name, text, most in (
            ("URL", url.text, self.url),
            ("path", url.path, self.path),
            ("query", url.query, self.query),
        ):
            if most is not None and len(text) > most:
                return f"the {name} has {len(text)} characters; the limit is {most}"
        return ""


class DenyRule(Struct, frozen=True):
    """A pattern for the path, or for path and query; ``None`` denies everything."""

    line: int
    text: str
    pattern: Pattern | None
    with_query: bool


class DenyBlock(Struct, frozen=True, eq=False):
    """The patterns of one host or domain."""

    path: PatternSet
    target: PatternSet
    everything: Hit | None

    def first(self, url: Url) -> Hit | None:
        found = (self.everything, self.path.first(url.path), self.target.first(url.target))
        return min((hit for hit in found if hit is not None), key=lambda hit: hit.number, default=None)


class FastRules(Struct, frozen=True, eq=False):
    """The rules of one file."""

    rules: tuple[DenyRule, ...]
    hosts: dict[str, DenyBlock]
    domains: dict[str, DenyBlock]
    lengths: LengthLimits

    def keeps(self, url: Url) -> bool:
        return not self.lengths.too_long(url) and self._first(url) is None

    def explain(self, url: Url) -> str:
        too_long = self.lengths.too_long(url)
        hit = None if too_long else self._first(url)
        if hit is None:
            return too_long or "no rule matches"
        rule = self.rules[hit.number]
        rule_text = f"line {rule.line}: DenyPath{'Query' if rule.with_query else ''} {rule.text}"
        return f"{rule_text} (gave up: the pattern is too slow on this URL)" if hit.gave_up else rule_text

    @property
    def slow(self) -> tuple[DenyRule, ...]:
        """The rules whose patterns backtrack."""
        return tuple(rule for rule in self.rules if rule.pattern is not None and not rule.pattern.linear)

    def _first(self, url: Url) -> Hit | None:
        for block in self._blocks(url.host.removesuffix(".")):
            hit = block.first(url)
            if hit is not None:
                return hit
        return None

    def _blocks(self, host: str) -> Iterator[DenyBlock]:
        if host in self.hosts:
            yield self.hosts[host]
        while host:
            if host in self.domains:
                yield self.domains[host]
            host = host.partition(".")[2]
        for blocks in (self.hosts, self.domains):
            if "." in blocks:
                yield blocks["."]


def parse(lines: Iterable[str], source: str, lengths: LengthLimits | None = None) -> FastRules:
    """Read a rule file.

    >>> from scoter.core.url import canonical
    >>> rules = parse(["Domain example.com", "DenyPath .*"], "rules.txt")
    >>> rules.keeps(canonical("http://www.example.com/")), rules.keeps(canonical("http://example.org/"))
    (False, True)
    """
    rules: list[DenyRule] = []
    names: dict[tuple[str, str], list[int]] = {}
    current: list[int] | None = None
    for line in rule_lines(lines, source):
        match line.text.partition("#")[0].split():
            case ["Host" | "Domain" as kind, name]:
                key = (kind, name if name == "." else line.host(name))
                current = names.setdefault(key, [])
            case ["DenyPath" | "DenyPathQuery" as kind, text] if current is not None:
                current.append(len(rules))
                pattern = None if text in _EVERYTHING else line.pattern(text)
                rules.append(DenyRule(line.number, text, pattern, kind == "DenyPathQuery"))
            case _:
                hint = "Write Host NAME or Domain NAME, then DenyPath REGEX or DenyPathQuery REGEX below it."
                raise line.error(f"{shown(line.text)} is not a rule", hint)
    hosts = {name: _block(rules, own) for (kind, name), own in names.items() if kind == "Host"}
    domains = {name: _block(rules, own) for (kind, name), own in names.items() if kind == "Domain"}
    return FastRules(tuple(rules), hosts, domains, lengths or LengthLimits())


def _block(rules: list[DenyRule], own: list[int]) -> DenyBlock:
    chosen = [(number, rules[number]) for number in own]
    everything = next((number for number, rule in chosen if rule.pattern is None), None)
    path = [(number, rule.pattern) for number, rule in chosen if rule.pattern is not None and not rule.with_query]
    target = [(number, rule.pattern) for number, rule in chosen if rule.pattern is not None and rule.with_query]
    paths, targets = PatternSet(path, SMALL_SET_MEMORY), PatternSet(target, SMALL_SET_MEMORY)
    return DenyBlock(paths, targets, None if everything is None else Hit(everything))
