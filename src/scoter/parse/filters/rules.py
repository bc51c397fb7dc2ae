"""The rules of the parse filter regex: a field, where to look, a pattern and, if wanted, what to keep of it.

    # field     source  pattern               kept
    has_price   html    itemprop="price"
    price       text    EUR\\s+([0-9.]+)       $1

Without the last column a field is ``true`` or ``false``, as in Nutch. With it, it holds what ``$1`` and its like stand
for, once for each place where the pattern is found. A pattern has no spaces; ``\\s`` stands for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, cast, get_args

from msgspec import Struct

from scoter.core.pattern import Pattern, Replacement, compile_pattern, compile_replacement
from scoter.core.rule_lines import rule_lines, shown
from scoter.errors import RuleError

Source: TypeAlias = Literal["html", "text", "title", "url"]
SOURCES: Final[tuple[Source, ...]] = get_args(Source)
MOST_RULES: Final = 500

_FIELD: Final = re.compile(r"[\w.:-]{1,100}")
_FORM: Final = (
    r"A rule is FIELD SOURCE PATTERN, and perhaps what to keep, such as $1; write \s for a space in a pattern."
)


class FieldRule(Struct, frozen=True, eq=False):
    """One line: the field that it fills from a source; without ``kept`` it tells only whether the pattern is found."""

    line: int
    field: str
    source: Source
    pattern: Pattern
    kept: Replacement | None = None


def parse(lines: Iterable[str], file: str) -> tuple[FieldRule, ...]:
    """Read a rule file.

    >>> [rule] = parse(["price text EUR([0-9]+) $1"], "fields.txt")
    >>> rule.field, rule.source, rule.pattern.text, rule.kept.parts
    ('price', 'text', 'EUR([0-9]+)', (1,))
    """
    rules = tuple(_rule(text, file, number) for number, text in rule_lines(lines))
    if len(rules) > MOST_RULES:
        raise RuleError(f"is the rule after the first {MOST_RULES}", file=file, line=rules[MOST_RULES].line)
    return rules


def _rule(text: str, file: str, line: int) -> FieldRule:
    field, source, pattern, kept = _columns(text, file, line)
    if not _FIELD.fullmatch(field):
        raise RuleError(
            f"{shown(field)} is no name of a field",
            file=file,
            line=line,
            hint="A name has letters, digits and _ . : - in it, at most 100 of them.",
        )
    if source.lower() not in SOURCES:
        raise RuleError(
            f"{shown(source)} is nothing that a pattern can be looked for in",
            file=file,
            line=line,
            hint=f"A source is one of {', '.join(SOURCES)}.",
        )
    what = f"the pattern {shown(pattern)}"
    try:
        compiled = compile_pattern(pattern)
        if kept:
            what = shown(kept)
        replacement = compile_replacement(kept, compiled) if kept else None
    except ValueError as error:
        raise RuleError(f"{what} {error}", file=file, line=line) from error
    return FieldRule(line, field, cast(Source, source.lower()), compiled, replacement)


def _columns(text: str, file: str, line: int) -> tuple[str, str, str, str]:
    match text.split():
        case [field, source, pattern]:
            return field, source, pattern, ""
        case [field, source, pattern, kept]:
            return field, source, pattern, kept
        case _:
            raise RuleError(f"{shown(text)} is not a rule", file=file, line=line, hint=_FORM)
