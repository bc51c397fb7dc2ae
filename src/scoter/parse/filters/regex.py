"""Extract fields by regular expressions from the markup, text, title or URL of a page.

    # field     source  pattern               kept
    has_price   html    itemprop="price"
    price       text    EUR\\s+([0-9.]+)       $1

Without the last column a field is ``true`` or ``false``, as in Nutch. With it, the field holds the expanded replacement
for every match. Patterns contain no spaces; write ``\\s``.

Patterns run in linear time on RE2 where it supports them, on a text as long as ``LONGEST_WORK`` allows for all of them
together. A backtracking pattern sees ``LONGEST_TEXT`` characters and is aborted after ``PATIENCE``. All rules of a page
get ``PAGE_PATIENCE`` in total; fields that are not reached by then are absent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, cast, get_args

from msgspec import Struct

from scoter.config import Setting
from scoter.config.named_files import lines_of
from scoter.core.page import Content, Page
from scoter.core.pattern import (
    LONGEST_TEXT,
    PATIENCE,
    SHORTEST_LIMIT,
    Pattern,
    Replacement,
    compile_pattern,
    compile_replacement,
)
from scoter.core.rule_lines import rule_lines, shown
from scoter.errors import RuleError
from scoter.parse.encoding import decode_page
from scoter.parse.filters.metadata_values import MOST_VALUES, join_values, with_metadata
from scoter.parse.mediatype import TEXT
from scoter.plugins import Setup

PAGE_PATIENCE: Final = 0.5  # CPU seconds for all rules of a page
LONGEST_WORK: Final = 2**27  # pattern size times text length; about a second when every step misses RE2's cache
MOST_MATCHES: Final = 10 * MOST_VALUES

_SETTING: Final = "plugin.parsefilter-regex.file"
Source: TypeAlias = Literal["html", "text", "title", "url"]
SOURCES: Final[tuple[Source, ...]] = get_args(Source)
MOST_RULES: Final = 500
_FIELD: Final = re.compile(r"[\w.:-]{1,100}")
_FORM: Final = (
    r"Write FIELD SOURCE PATTERN, optionally followed by what to keep, such as $1; use \s for a space in a pattern."
)


class RegexSettings(Struct, frozen=True):
    """Settings of the filter regex."""

    file: Annotated[
        Path, Setting("Rule file: a field, a source (html, text, title, url), a pattern and optionally what to keep.")
    ]


class RegexFilter:
    """Fills fields using the regular expressions in a rule file."""

    Settings = RegexSettings

    def __init__(self, setup: Setup, *, clock: Callable[[], float] = time.thread_time) -> None:
        settings: RegexSettings = setup.settings
        self._rules = parse_field_rules(lines_of(settings.file, _SETTING), str(settings.file))
        self._default = setup.config.parse.character_encoding_default
        self._clock = clock
        size = sum(rule.pattern.size for rule in self._rules if rule.pattern.linear)
        self._longest = max(SHORTEST_LIMIT, LONGEST_WORK // max(size, 1))
        self.warnings = tuple(
            f"{settings.file}:{rule.line}: the pattern {rule.pattern.text} needs backtracking: it sees only"
            f" {LONGEST_TEXT:,} characters of a page and is aborted after {PATIENCE * 1000:.0f} ms"
            for rule in self._rules
            if not rule.pattern.linear
        )

    def refine(self, content: Content, page: Page) -> Page:
        end = self._clock() + PAGE_PATIENCE
        sources: dict[Source, bytes] = {}
        found: dict[str, str] = {}
        for rule in self._rules:
            if found.get(rule.field, "false") != "false":
                continue  # an earlier rule has filled it
            if self._clock() > end:
                break
            text = sources.get(rule.source)
            if text is None:
                text = sources[rule.source] = self._source(rule.source, content, page)
            value = self._value(rule, text, end)
            if value is not None:
                found[rule.field] = value
        return with_metadata(page, found)

    def _source(self, source: Source, content: Content, page: Page) -> bytes:
        if source != "html":
            texts = {"title": page.title, "url": page.url.text, "text": page.text[: self._longest]}
            return texts[source].encode("utf-8", "replace")
        # The markup around a feed entry is not the entry's own.
        if page.url != content.url or not page.encoding:
            return b""
        markup = content.media_type != TEXT
        return decode_page(content.body, content.encoding, self._default, markup=markup).utf8

    def _value(self, rule: FieldRule, text: bytes, end: float) -> str | None:
        """Return a rule's value for a text, or ``None`` if it was aborted or found nothing to keep."""
        try:
            matches = _matches(rule, text[: self._longest])
            if rule.kept is None:
                return "true" if next(matches, None) is not None else "false"
            return join_values(self._kept(rule.kept, matches, end)) or None
        except (TimeoutError, MemoryError):
            return None

    def _kept(self, kept: Replacement, matches: Iterator[Any], end: float) -> Iterator[str]:
        for match in islice(matches, MOST_MATCHES):
            yield "".join(part if isinstance(part, str) else _text(match[part]) for part in kept.parts)
            # Finding where a match ends may take a scan of everything after it.
            if self._clock() > end:
                return


def _matches(rule: FieldRule, text: bytes) -> Iterator[Any]:
    engine = rule.pattern.engine
    if rule.pattern.linear:
        yield from engine.finditer(text)
    else:
        yield from engine.finditer(_text(text[: 4 * LONGEST_TEXT])[:LONGEST_TEXT], timeout=PATIENCE)


def _text(found: bytes | str | None) -> str:
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found or ""


class FieldRule(Struct, frozen=True, eq=False):
    """One rule; without ``kept`` the field only says whether the pattern matches."""

    line: int
    field: str
    source: Source
    pattern: Pattern
    kept: Replacement | None = None


def parse_field_rules(lines: Iterable[str], file: str) -> tuple[FieldRule, ...]:
    """Parse a rule file.

    >>> [rule] = parse_field_rules(["price text EUR([0-9]+) $1"], "fields.txt")
    >>> rule.field, rule.source, rule.pattern.text, rule.kept.parts
    ('price', 'text', 'EUR([0-9]+)', (1,))
    """
    rules = tuple(_rule(line.text, file, line.number) for line in rule_lines(lines, file))
    if len(rules) > MOST_RULES:
        raise RuleError(f"too many rules: at most {MOST_RULES} are allowed", file=file, line=rules[MOST_RULES].line)
    return rules


def _rule(text: str, file: str, line: int) -> FieldRule:
    columns = text.split()
    if len(columns) not in (3, 4):
        raise RuleError(f"{shown(text)} is not a rule", file=file, line=line, hint=_FORM)
    field, source, pattern, kept = (*columns, "")[:4]
    if not _FIELD.fullmatch(field):
        hint = "Use up to 100 letters, digits and the characters _ . : -"
        raise RuleError(f"{shown(field)} is not a valid field name", file=file, line=line, hint=hint)
    if source.lower() not in SOURCES:
        hint = f"Use one of {', '.join(SOURCES)}."
        raise RuleError(f"{shown(source)} is not a source", file=file, line=line, hint=hint)
    what = f"the pattern {shown(pattern)}"
    try:
        compiled = compile_pattern(pattern)
        what = shown(kept)
        replacement = compile_replacement(kept, compiled) if kept else None
    except ValueError as error:
        raise RuleError(f"{what} {error}", file=file, line=line) from error
    return FieldRule(line, field, cast(Source, source.lower()), compiled, replacement)
