"""The regex filter: ``+`` and ``-`` lines with regular expressions; the first that matches decides.

    # comments and blank lines are skipped
    -\\.(?:gif|jpg)$
    > example.org
    +/news/
    < back to rules for every host
    +^https?://

``> NAME`` starts rules for one host, or for a registered domain and all its hosts; ``<`` ends them. A URL that no rule
matches is dropped.

The automaton filter has the same lines with patterns in the syntax of Nutch's automaton library, which match the whole
URL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from scoter.core.pattern import SMALL_SET_MEMORY, Hit, Pattern, PatternSet
from scoter.core.rule_lines import RuleLine, shown
from scoter.core.url import Url


class RegexFilterRule(Struct, frozen=True):
    """One line: keeps or drops URLs that its pattern matches, everywhere or on one host or domain."""

    line: int
    keep: bool
    pattern: Pattern
    section: str = ""
    text: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {'+' if self.keep else '-'}{self.text}"


class RegexRules(Struct, frozen=True, eq=False):
    """The rules of one file."""

    rules: tuple[RegexFilterRule, ...]
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
        return f"{rule} (gave up: the pattern is too slow on this URL)" if hit.gave_up else str(rule)

    @property
    def slow(self) -> tuple[RegexFilterRule, ...]:
        """The rules whose patterns backtrack."""
        return tuple(rule for rule in self.rules if not rule.pattern.linear)

    def _first(self, url: Url) -> Hit | None:
        found = [self.everywhere.first(url.text)]
        if self.sections:
            for name in {url.host.removesuffix("."), url.domain}:
                section = self.sections.get(name)
                if section is not None:
                    found.append(section.first(url.text))
        return min((hit for hit in found if hit is not None), key=lambda hit: hit.number, default=None)


def parse(lines: Iterable[str], source: str, syntax: Callable[[str], str] = str) -> RegexRules:
    """Read a rule file; ``syntax`` translates its patterns to regular expressions.

    >>> from scoter.core.url import canonical
    >>> parse(["-[.]gif$", "+^https:"], "rules.txt").explain(canonical("https://a.example/x.gif"))
    'line 1: -[.]gif$'
    """
    rules: list[RegexFilterRule] = []
    section = ""
    for number, text in enumerate(map(str.rstrip, lines), 1):
        line = RuleLine(text, source, number)
        match text[:1]:
            case "" | "#":
                continue
            case ">":
                section = line.host(text[1:].strip())
            case "<":
                section = ""
            case "+" | "-":
                rules.append(RegexFilterRule(number, text[0] == "+", _compiled(line, syntax), section, text[1:]))
            case _ if not text.lstrip().startswith("#"):
                hint = "Start a rule with + or -, a comment with #, and rules for one host with > NAME."
                raise line.error(f"{shown(text)} is not a rule", hint)
    numbered: dict[str, list[tuple[int, Pattern]]] = {"": []}
    for index, rule in enumerate(rules):
        numbered.setdefault(rule.section, []).append((index, rule.pattern))
    everywhere = PatternSet(numbered.pop(""))
    sections = {name: PatternSet(patterns, SMALL_SET_MEMORY) for name, patterns in numbered.items()}
    return RegexRules(tuple(rules), everywhere, sections)


def _compiled(line: RuleLine, syntax: Callable[[str], str]) -> Pattern:
    try:
        text = syntax(line.text[1:])
    except ValueError as error:
        raise line.error(f"the pattern {shown(line.text[1:])} {error}") from error
    return line.pattern(text)


# Escapes, quoted strings, character classes, repetitions and single characters of the automaton syntax.
_AUTOMATON = re.compile(
    r'\\(?P<escaped>.)|"(?P<quoted>[^"]*)"|\[(?P<class>(?:\\.|[^]\\])+)\]|(?P<repeat>[?*+]|\{[0-9,]+\})|.', re.DOTALL
)
_CLASS_PART = re.compile(r"\\(.)|(.)", re.DOTALL)


def automaton_pattern(text: str) -> str:
    """Return the regular expression for a pattern of Nutch's automaton filter; it matches whole texts.

    ``^`` and ``$`` are ordinary characters there, ``@`` is any text, and quotes enclose literal text.

    >>> automaton_pattern("(file|ftp):@"), automaton_pattern("http://a.b/[^?]*")
    ('^(?:(?:file|ftp):(?s:.*))$', '^(?:http://a(?s:.)b/[^\\\\?]*)$')
    """
    parts: list[str] = []
    repeats = False
    for found in _AUTOMATON.finditer(text):
        if found["repeat"] is not None:
            if repeats:
                raise ValueError("repeats a repetition; put the first one in parentheses")
            parts.append(found[0])
        elif found["class"] is not None:
            negated = found["class"].startswith("^")
            inside = _CLASS_PART.sub(_class_part, found["class"][negated:])
            parts.append(f"[{'^' if negated else ''}{inside}]")
        elif (literal := found["escaped"] if found["quoted"] is None else found["quoted"]) is not None:
            parts.append(f"(?:{re.escape(literal)})")
        elif found[0] in "&~#<":
            raise ValueError(
                f"uses the operator {found[0]}, which is not supported; for the character write \\{found[0]}"
            )
        else:
            parts.append(_SIGNS.get(found[0]) or re.escape(found[0]))
        repeats = found["repeat"] is not None
    return f"^(?:{''.join(parts)})$"


_SIGNS = {"(": "(?:", ")": ")", "|": "|", ".": "(?s:.)", "@": "(?s:.*)", "/": "/", ":": ":"}


def _class_part(found: re.Match[str]) -> str:
    if found[1] is None and (found[2] == "-" or found[2].isalnum()):
        return found[2]
    return re.escape(found[1] or found[2])
