"""The regex filter: ``+`` and ``-`` lines with regular expressions; the first that is found decides, none drops.

    # comments and blank lines are skipped
    -\\.(?:gif|jpg)$
    > example.org
    +/news/
    < back to rules for every host
    +^https?://

``> NAME`` begins rules for one host, or for one registered domain and all its hosts; ``<`` ends them.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from scoter.core.pattern import SMALL_SET_MEMORY, Hit, Pattern, PatternSet, compile_pattern
from scoter.core.rule_lines import host_name, shown
from scoter.core.url import Url
from scoter.errors import RuleError


class Rule(Struct, frozen=True):
    """One line: keep or drop what its pattern is found in, everywhere or on one host or domain."""

    line: int
    keep: bool
    pattern: Pattern
    section: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {'+' if self.keep else '-'}{self.pattern.text}"


class RegexRules(Struct, frozen=True, eq=False):
    """The rules of one file."""

    rules: tuple[Rule, ...]
    everywhere: PatternSet
    sections: dict[str, PatternSet]

    def keeps(self, url: Url) -> bool:
        hit = self.everywhere.first(url.text) if not self.sections else self._first(url)
        return hit is not None and not hit.gave_up and self.rules[hit.number].keep

    def explain(self, url: Url) -> str:
        hit = self._first(url)
        if hit is None:
            return "no rule matches"
        rule = self.rules[hit.number]
        return f"{rule} (gave up: the pattern takes too long on this URL)" if hit.gave_up else str(rule)

    @property
    def slow(self) -> tuple[Rule, ...]:
        """The rules whose time is not in proportion to the URL's length."""
        return tuple(rule for rule in self.rules if not rule.pattern.linear)

    def _first(self, url: Url) -> Hit | None:
        found = [self.everywhere.first(url.text)]
        if self.sections:
            for name in {url.host.removesuffix("."), url.domain}:
                section = self.sections.get(name)
                if section is not None:
                    found.append(section.first(url.text))
        return min((hit for hit in found if hit is not None), key=lambda hit: hit.number, default=None)


def parse(lines: Iterable[str], source: str) -> RegexRules:
    """Read a rule file.

    >>> from scoter.core.url import canonical
    >>> parse(["-[.]gif$", "+^https:"], "rules.txt").explain(canonical("https://a.example/x.gif"))
    'line 1: -[.]gif$'
    """
    rules: list[Rule] = []
    section = ""
    for number, line in enumerate(lines, 1):
        text = line.rstrip()
        match text[:1]:
            case "" | "#":
                continue
            case ">":
                section = host_name(text[1:].strip(), source, number)
            case "<":
                section = ""
            case "+" | "-":
                rules.append(Rule(number, text[0] == "+", _compiled(text[1:], source, number), section))
            case _ if not text.lstrip().startswith("#"):
                raise RuleError(
                    f"{shown(text)} is not a rule",
                    file=source,
                    line=number,
                    hint="A rule starts with + or -, a comment with #, rules for one host with > and its name.",
                )
    numbered: dict[str, list[tuple[int, Pattern]]] = {"": []}
    for index, rule in enumerate(rules):
        numbered.setdefault(rule.section, []).append((index, rule.pattern))
    everywhere = PatternSet(numbered.pop(""))
    sections = {name: PatternSet(patterns, SMALL_SET_MEMORY) for name, patterns in numbered.items()}
    return RegexRules(tuple(rules), everywhere, sections)


def _compiled(text: str, source: str, line: int) -> Pattern:
    try:
        return compile_pattern(text)
    except ValueError as error:
        raise RuleError(f"the pattern {shown(text)} {error}", file=source, line=line) from error
