"""Passages of a page's text that show why it matches a query. They begin and end at words."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from scoter.index.languages import is_unspaced
from scoter.index.matches import TextMatch

LENGTH: Final = 200
_UNSPACED_LENGTH: Final = 100  # letters of scripts without spaces take twice the room
_MOST_MATCHES: Final = 500
_SENTENCE: Final = re.compile(r"\n|[.!?:;]\s+|[。！？]")
_SPACE: Final = re.compile(r"\s")


def passage(text: str, matches: Sequence[TextMatch], weights: Sequence[float], start: int, end: int) -> str:
    """Return the best passage between two places of a text as HTML, its matches marked with ``<b>``.

    ``weights`` say how much each word of the query counts.
    """
    chosen = [match for match in matches if start <= match.start and match.end <= end][:_MOST_MATCHES]
    length = _UNSPACED_LENGTH if is_unspaced(text[start : start + LENGTH]) else LENGTH
    if not chosen:
        return _marked(text, (), start, _last(text, start, end, length), end)
    first = max(range(len(chosen)), key=lambda number: (_value(chosen, number, weights, length), -number))
    within = [match for match in chosen[first:] if match.end <= chosen[first].start + length]
    used = (within[-1].end if within else chosen[first].end) - chosen[first].start
    begin = _first(text, start, chosen[first].start, max(0, length - used))
    return _marked(text, chosen, begin, _last(text, begin, end, max(length, used)), end)


def beginning(text: str, length: int = LENGTH) -> str:
    """Return the first words of a text as HTML."""
    return _marked(text, (), 0, _last(text, 0, len(text), length), len(text))


def _value(matches: Sequence[TextMatch], first: int, weights: Sequence[float], length: int) -> float:
    """Return how much the passage says that begins with a match: different words count most."""
    end = matches[first].start + length
    seen: set[int] = set()
    value = 0.0
    for match in matches[first : first + 40]:
        if match.end > end:
            break
        value += weights[match.term] * (0.05 if match.term in seen else 1.0)
        seen.add(match.term)
    return value


def _first(text: str, start: int, match: int, room: int) -> int:
    """Return where a passage begins: at the sentence or line of its first match, or else a few words before it."""
    least = max(start, match - room)
    if least == start and match - start <= room:
        last_line = text.rfind("\n", start, match) + 1 or start
        sentences = [found.end() for found in _SENTENCE.finditer(text, max(start, last_line), match)]
        return sentences[-1] if sentences and match - start > LENGTH // 2 else max(start, 0)
    sentences = [found.end() for found in _SENTENCE.finditer(text, least, match)]
    if sentences:
        return sentences[-1]
    least = max(least, match - room // 3)
    space = _SPACE.search(text, max(start, least - 1), match)
    return space.end() if space else match


def _last(text: str, begin: int, end: int, length: int) -> int:
    """Return where a passage ends: after a word."""
    if end - begin <= length:
        return end
    last = begin + length
    if not text[last].isalnum():
        return last
    at = last
    while at > begin and text[at - 1].isalnum():
        at -= 1
    return at if at > begin + length // 2 else last


def _marked(text: str, matches: Sequence[TextMatch], begin: int, last: int, end: int) -> str:
    parts, at = [], begin
    for match in matches:
        if match.start >= at and match.end <= last:
            parts += [html.escape(text[at : match.start]), "<b>", html.escape(text[match.start : match.end]), "</b>"]
            at = match.end
    parts.append(html.escape(text[at:last]))
    return " ".join("".join(parts).split())
