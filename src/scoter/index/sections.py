"""The sections of a page in its text, and which of them answers a query best."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from scoter.core.page import PageSection
from scoter.index.matches import TextMatch

_KEY: Final = re.compile(r"\W+")
_EDIT: Final = re.compile(r"\[[^\[\]]{1,20}\]$")
_LONGEST_KEY: Final = 60
_HEADING: Final = 2.0  # times as much as the same word in the text of the section
_MOST_PATH: Final = 2


class TextSection(Struct, frozen=True, array_like=True):
    """A section: where its heading is in the text, the level, and the fragment of its URL."""

    start: int
    length: int
    level: int
    anchor: str


class SectionHit(Struct, frozen=True):
    """The section that answers a query, with the headings that lead to it, and where its text is."""

    anchor: str
    path: tuple[str, ...]
    start: int
    end: int


def located(sections: Sequence[PageSection], text: str) -> tuple[TextSection, ...]:
    """Return the sections whose headings are lines of a text, in their order.

    A table of contents has the same lines: a heading between two others is not taken.
    """
    if not sections:
        return ()
    keys = [_key(section.text) for section in sections]
    lines = dict(_lines(text, frozenset(keys)))
    places = defaultdict(list)
    for at, (key, _, _, _) in lines.items():
        places[key].append(at)
    found = []
    number = -1
    for section, key in zip(sections, keys, strict=True):
        candidates = [at for at in places.get(key, ()) if at > number]
        if not candidates:
            continue
        number = next((at for at in candidates if not (at - 1 in lines and at + 1 in lines)), candidates[0])
        _, start, length, line = lines[number]
        length = len(section.text) if line.startswith(section.text) else length
        found.append(TextSection(start, length, section.level, section.anchor))
    return tuple(found)


def best_section(
    sections: Sequence[TextSection], text: str, title: str, matches: Sequence[TextMatch], weights: Sequence[float]
) -> SectionHit | None:
    """Return the section that answers a query best, or ``None`` if that is the page as a whole.

    ``weights`` say how much each word of the query counts: nothing, if it is in the title, which all sections share.
    """
    if not sections or not matches or not any(weights):
        return None
    ends = [*(section.start for section in sections[1:]), len(text)]
    of_page = sum(weights[term] for term in {match.term for match in matches if match.start < sections[0].start})
    scores = [0.0] * len(sections)
    at = 0
    while at < len(matches) and matches[at].start < sections[0].start:
        at += 1
    for number, (section, end) in enumerate(zip(sections, ends, strict=True)):
        heading_end = section.start + section.length
        inside: set[int] = set()
        heading: dict[int, int] = {}
        while at < len(matches) and matches[at].start < end:
            match = matches[at]
            inside.add(match.term)
            if match.end <= heading_end:
                heading[match.term] = match.end - match.start
            at += 1
        scores[number] = sum(weights[term] for term in inside) + sum(
            weights[term] * (_HEADING + length / max(1, section.length)) for term, length in heading.items()
        )
    best = max(range(len(sections)), key=lambda each: (scores[each], -each))
    path = _path(sections, best, text)
    if scores[best] <= of_page or _is_title(path[-1], title):
        return None
    shown = tuple(each for each in path if not _is_title(each, title))[-_MOST_PATH:]
    return SectionHit(sections[best].anchor, shown, sections[best].start, ends[best])


def _path(sections: Sequence[TextSection], number: int, text: str) -> list[str]:
    """Return the heading of a section after those of the sections around it."""
    path: list[str] = []
    level = 10
    for section in reversed(sections[: number + 1]):
        if section.level < level:
            level = section.level
            path.append(" ".join(text[section.start : section.start + section.length].split()))
    return path[::-1]


def _is_title(heading: str, title: str) -> bool:
    """Return whether a heading says what the title does, which often has the name of the site, too."""
    one, two = _key(heading), _key(title)
    return bool(one) and (two.startswith(one) or one.startswith(two or "\0"))


def _key(text: str) -> str:
    return _KEY.sub("", _EDIT.sub("", text.rstrip()))[:_LONGEST_KEY].lower()


def _lines(text: str, keys: frozenset[str]) -> Iterator[tuple[int, tuple[str, int, int, str]]]:
    """Yield the lines that may be headings by their numbers: key, start, length, text."""
    start = 0
    for number, line in enumerate(text.split("\n")):
        # Few lines have as few letters as a heading.
        if len(line) < 600 and line:
            key = _key(line)
            if key in keys:
                yield number, (key, start, len(line), line)
        start += len(line) + 1
