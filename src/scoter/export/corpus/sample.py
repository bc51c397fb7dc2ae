"""Texts that are drawn for the sample report: of those that are kept, and of those that each reason drops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from msgspec import Struct

from scoter.export.corpus.columns import ChosenRows, text_of
from scoter.export.corpus.judged import JudgedPages
from scoter.export.corpus.quality import TextMeter, shingles
from scoter.export.corpus.verdicts import NEAR_DUPLICATE

_SEED: Final = 20_260_101
_BEGINNING, _END = 4_000, 1_000  # characters of a text that are shown
_MOST_LINES: Final = 12
_LONGEST_LINE: Final = 300
_SHOWN: Final = ("words", "prose", "short_lines", "punctuated_lines", "duplicate_5grams")


class SampledPage(Struct, frozen=True, kw_only=True):
    """A page of the sample: the beginning and the end of its text, and how many characters are between them.

    ``reasons`` are all reasons to drop it. ``shared`` is the share of sequences of five words that it has in common
    with the page that it repeats, and ``changes`` are lines that only it has.
    """

    url: str
    title: str
    language: str
    beginning: str
    omitted: int
    end: str
    signals: Mapping[str, float]
    reasons: tuple[str, ...]
    duplicate_of: str = ""
    shared: float | None = None
    changes: tuple[str, ...] = ()


class SampleGroup(Struct, frozen=True):
    """Pages that are kept, or that a reason drops: its name, a heading, the option against it, and their number."""

    name: str
    heading: str
    option: str
    total: int
    pages: Iterator[SampledPage]


def sample_groups(judged: JudgedPages, number: int) -> Iterator[SampleGroup]:
    """Yield the pages that are kept, and those that each reason drops: at most ``number`` of each, drawn at random.

    The same corpus gives the same sample.
    """
    draw = np.random.default_rng(_SEED)
    kept = np.flatnonzero(~judged.is_dropped)
    yield SampleGroup("kept", "Kept", "", len(kept), _pages(judged, _drawn(draw, kept, number)))
    for reason in judged.reasons:
        rows = np.flatnonzero(reason.applies(slice(None)))
        if len(rows):
            pages = _pages(judged, _drawn(draw, rows, number), compare=reason.name == NEAR_DUPLICATE)
            yield SampleGroup(reason.name, reason.text, reason.option, len(rows), pages)


def _drawn(draw: np.random.Generator, rows: Any, number: int) -> Any:
    if len(rows) <= number:
        return rows
    return np.sort(rows[draw.choice(len(rows), number, replace=False, shuffle=False)])


def _pages(judged: JudgedPages, rows: Any, *, compare: bool = False) -> Iterator[SampledPage]:
    chosen = ChosenRows(judged.pages, judged.measured.signals, judged.verdicts, rows, judged.urls)
    originals = _texts(judged, np.unique(judged.verdicts.best[rows])) if compare else {}
    for numbers, pages, signals in chosen.pieces(0, len(rows)):
        names = [(reason.text, reason.applies(numbers)) for reason in judged.reasons]
        urls = chosen.originals(numbers)
        columns = [pages.column(name).to_pylist() for name in ("url", "title", "language")]
        for at, (text, url, title, language) in enumerate(zip(text_of(pages).to_pylist(), *columns, strict=True)):
            text = text or ""
            shared, changes = _compared(text, originals.get(int(judged.verdicts.best[numbers[at]])))
            yield SampledPage(
                url=url,
                title=title or "",
                language=language or "",
                **_excerpt(text),
                signals={name: signals.column(name)[at].as_py() or 0 for name in _SHOWN},
                reasons=tuple(name for name, applies in names if applies[at]),
                duplicate_of=urls[at],
                shared=shared,
                changes=changes,
            )


def _texts(judged: JudgedPages, rows: Any) -> dict[int, str]:
    found = [text or "" for pages in judged.pages.pick(rows) for text in text_of(pages).to_pylist()]
    return dict(zip(rows.tolist(), found, strict=True))


def _excerpt(text: str) -> dict[str, Any]:
    if len(text) <= _BEGINNING + 2 * _END:
        return {"beginning": text, "omitted": 0, "end": ""}
    return {"beginning": text[:_BEGINNING], "omitted": len(text) - _BEGINNING - _END, "end": text[-_END:]}


def _compared(text: str, original: str | None) -> tuple[float | None, tuple[str, ...]]:
    """Return how much two texts share, and lines that only the first has."""
    if original is None:
        return None, ()
    one, other = (np.unique(shingles(TextMeter().tokens(each), 5)) for each in (text, original))
    shared = len(np.intersect1d(one, other)) / max(len(np.union1d(one, other)), 1)
    known = set(map(str.strip, original.splitlines()))
    changes = dict.fromkeys(line[:_LONGEST_LINE] for line in map(str.strip, text.splitlines()) if line not in known)
    return shared, tuple(changes)[:_MOST_LINES]
