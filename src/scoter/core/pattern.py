"""Regular expressions that cannot hang.

RE2 runs in linear time; ``regex`` backtracks and is stopped after ``PATIENCE``. A pattern runs on RE2 unless it uses
look-around, back-references, or possessive or atomic groups (``Pattern.linear``). "Gave up" is a result (``None``,
``Hit.gave_up``), never an exception, because any URL may cause it.

Linear is not always fast: a pattern with many repetitions costs its size for every character. So a text is matched only
up to a length that depends on the size of the patterns, from ``SHORTEST_LIMIT`` to ``LONGEST_TEXT``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import re2  # type: ignore[import-untyped]
from msgspec import Struct

from scoter.core.java_regex import Translation, translate

LONGEST_TEXT: Final = 65_536
SHORTEST_LIMIT: Final = 4_096
MOST_REPLACEMENTS: Final = 1_000
PATIENCE: Final = 0.05  # CPU seconds for one match of a pattern that backtracks

_WORK: Final = 2**27  # pattern size times text length; about a second when every step misses RE2's cache
SET_MEMORY: Final = 64 * 1024 * 1024  # bounds, not reservations
SMALL_SET_MEMORY: Final = 1024 * 1024  # for one of many sets, such as the rules of one host


class Pattern(Struct, frozen=True, eq=False):
    """A compiled pattern.

    >>> compile_pattern(r"\\.gif$").found("http://a.example/x.gif")
    True
    >>> compile_pattern(r"(/[^/]+)\\1").linear
    False
    """

    text: str
    linear: bool
    size: int
    translation: Translation
    engine: Any

    def found(self, text: str) -> bool | None:
        """Return whether the pattern matches somewhere in a text, or ``None`` if it gave up."""
        if len(text) > _longest(self.size):
            return None
        if self.linear:
            return self.engine.search(_bytes(text)) is not None
        try:
            return self.engine.search(text, timeout=PATIENCE) is not None
        except (TimeoutError, MemoryError):
            return None

    def replaced(self, text: str, replacement: Replacement) -> str | None:
        """Return the text with every match replaced, or ``None`` if it gave up or the text became too long."""
        if len(text) > _longest(self.size):
            return None
        try:
            return self._replaced(text, replacement)
        except (TimeoutError, MemoryError, UnicodeEncodeError):
            return None

    def _replaced(self, text: str, replacement: Replacement) -> str | None:
        pieces: list[str] = []
        length, end = 0, 0
        for count, match in enumerate(self._matches(text)):
            pieces += (text[end : match.start()], replacement.of(match))
            length += len(pieces[-1]) + len(pieces[-2])
            end = match.end()
            if count >= MOST_REPLACEMENTS or length > LONGEST_TEXT:
                return None
        return "".join([*pieces, text[end:]]) if pieces else text

    def _matches(self, text: str) -> Iterator[Any]:
        if not self.linear:
            yield from self.engine.finditer(text, timeout=PATIENCE)
            return
        last = None
        for match in self.engine.finditer(text):
            # The binding reports an empty match twice if it is ahead of the start of the search.
            if match.span() != last:
                last = match.span()
                yield match


class Replacement(Struct, frozen=True):
    """The replacement of a match: text and group numbers."""

    parts: tuple[str | int, ...]

    def of(self, match: Any) -> str:
        return "".join(part if isinstance(part, str) else match[part] or "" for part in self.parts)


class Hit(Struct, frozen=True):
    """The first pattern of a set that matched or gave up."""

    number: int
    gave_up: bool = False


def compile_pattern(text: str) -> Pattern:
    """Compile a pattern in Java's syntax, or raise ``ValueError`` with what is wrong, as a predicate."""
    translation = translate(text)
    try:
        engine = re2.compile(translation.linear, _options())
        return Pattern(text, True, engine.programsize, translation, engine)
    except re2.error:
        pass
    import regex  # type: ignore[import-untyped]  # few crawls need it

    try:
        engine = regex.compile(translation.backtracking, regex.V1)
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression: {str(error).partition(chr(10))[0]}") from error
    return Pattern(text, False, len(translation.backtracking), translation, engine)


def compile_replacement(text: str, pattern: Pattern) -> Replacement:
    """Parse a replacement as Java does: ``$1`` and ``${name}`` are groups, a backslash escapes the next character.

    >>> compile_replacement(r"$1\\$", compile_pattern("(a)")).parts
    (1, '$')
    """
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        if text[at] == "\\":
            if at + 1 == len(text):
                raise ValueError("ends with a backslash")
            parts.append(text[at + 1])
            at += 2
        elif text[at] == "$":
            group, at = _group_at(text, at + 1, pattern.translation)
            parts.append(group)
        else:
            parts.append(text[at])
            at += 1
    return Replacement(tuple(_merged(parts)))


class PatternSet:
    """Numbered patterns; finds the one with the lowest number that matches a text.

    All linear patterns are matched in one pass over the text, then the others one by one, as long as their numbers are
    lower than the best linear one.
    """

    def __init__(self, patterns: Iterable[tuple[int, Pattern]], memory: int = SET_MEMORY) -> None:
        numbered = sorted(patterns, key=lambda each: each[0])
        linear = [each for each in numbered if each[1].linear]
        self._slow = tuple(each for each in numbered if not each[1].linear)
        self._bundles = tuple(_bundled(linear, memory))
        self._longest = _longest(sum(pattern.size for _, pattern in linear))
        self._too_long = Hit(numbered[0][0], gave_up=True) if numbered else None

    def first(self, text: str) -> Hit | None:
        """Return the first pattern that matches or gives up, or ``None``."""
        if len(text) > self._longest:
            return self._too_long
        best = None
        for bundle in self._bundles:
            best = bundle.first(text)
            if best is not None:
                break
        return self._first_slow(text, best) if self._slow else best

    def _first_slow(self, text: str, best: Hit | None) -> Hit | None:
        for number, pattern in self._slow:
            if best is not None and number > best.number:
                break
            found = pattern.found(text)
            if found is not False:
                return Hit(number, gave_up=found is None)
        return best


class Bundle:
    """Linear patterns in the order of their numbers, matched in one pass."""

    def __init__(
        self, patterns: Sequence[tuple[int, Pattern]], match: Callable[[bytes], list[int] | None] | None
    ) -> None:
        self._patterns = patterns
        self._match = match
        self._hits = tuple(Hit(number) for number, _ in patterns)

    def first(self, text: str) -> Hit | None:
        found = self._match(_bytes(text)) if self._match is not None else None
        if not found:
            return self._one_by_one(text)
        index = min(found)
        return self._hits[index] if index < len(self._hits) else None

    def _one_by_one(self, text: str) -> Hit | None:
        for hit, (_, pattern) in zip(self._hits, self._patterns, strict=True):
            found = pattern.found(text)
            if found is not False:
                return Hit(hit.number, gave_up=found is None)
        return None


def _bundled(patterns: Sequence[tuple[int, Pattern]], memory: int) -> Iterator[Bundle]:
    """Group patterns into as few bundles as the memory limit allows."""
    if not patterns:
        return
    together = re2.Set.SearchSet(_options(memory, capture=False))
    try:
        for _, pattern in patterns:
            together.Add(pattern.translation.linear)
        # RE2 also reports "no match" when it runs out of memory. Every text matches this last pattern, so its absence
        # reveals that.
        together.Add(r"\z")
        together.Compile()
    except re2.error:
        if len(patterns) == 1:
            yield Bundle(patterns, None)
            return
        middle = len(patterns) // 2
        yield from _bundled(patterns[:middle], memory)
        yield from _bundled(patterns[middle:], memory)
        return
    yield Bundle(patterns, together.Match)


def _options(memory: int = 8 * 1024 * 1024, *, capture: bool = True) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory
    options.never_capture = not capture
    return options


def _longest(size: int) -> int:
    return max(SHORTEST_LIMIT, min(LONGEST_TEXT, _WORK // max(size, 1)))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # a lone surrogate must not raise; it matches nothing


def _group_at(text: str, at: int, translation: Translation) -> tuple[int, int]:
    if text.startswith("{", at):
        name, closed, _ = text[at + 1 :].partition("}")
        if not closed or name not in translation.names:
            raise ValueError(f"names a group that the pattern does not have: ${{{name}}}")
        return translation.names[name], at + len(name) + 2
    end = at
    while (
        end < len(text) and text[end] in "0123456789" and (end == at or int(text[at : end + 1]) <= translation.groups)
    ):
        end += 1
    if end == at:
        raise ValueError(r"has a $ without a group number (write \$ for the character)")
    if int(text[at:end]) > translation.groups:
        raise ValueError(f"names a group that the pattern does not have: ${text[at:end]}")
    return int(text[at:end]), end


def _merged(parts: Iterable[str | int]) -> Iterator[str | int]:
    for is_text, group in groupby(parts, key=lambda part: isinstance(part, str)):
        found = list(group)
        yield from ["".join(map(str, found))] if is_text else found
