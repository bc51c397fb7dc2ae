"""What was kept of a page, and what boilerplate was left.

Words and blocks are compared without markup, so that text and Markdown can be measured alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final
from unicodedata import normalize

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from benchmarks.main_text.page_sets import Page
from scoter.parse.html.elements import name_set

KINDS: Final = {
    "code": "pre",
    "cells": "td, th",
    "headings": "h1, h2, h3, h4, h5, h6",
    "lists": "li",
    "definitions": "dt, dd",
    "captions": "figcaption, caption",
    "formulas": "math",
}
_BLOCKS: Final = name_set(
    "address article aside blockquote body br caption dd details div dl dt fieldset figcaption figure footer form"
    " h1 h2 h3 h4 h5 h6 header hr li main menu nav ol option p pre section select summary table tbody td tfoot th"
    " thead tr ul"
)
_UNSHOWN: Final = name_set("script style template noscript head title textarea svg")
_WORD: Final = re.compile(r"\w+")
_CELL_ENDS: Final = re.compile(r"[\n\t|]+")
_SPACE: Final = re.compile(r"\s+")
_NOT_LETTERS: Final = re.compile(r"[\W_]+")
_NOT_CODE: Final = re.compile("[\\s\u200b\u200c\u200d\u2060\ufeff]+")  # white space, and what is not seen


class Score(Struct):
    """What is known of one page and one candidate; ``None`` where there is nothing to measure."""

    page: str
    words: float | None = None
    """Share of the content words kept: of those that occur on at most half of the host's pages."""
    kinds: dict[str, float] = {}
    repeated: float | None = None
    """Share left of the boilerplate that occurs on at least half of the host's pages."""
    boilerplate: float | None = None
    """Share left of everything outside the content."""
    examples: list[str] = []
    f1: float | None = None
    hits: tuple[int, int, int] = (0, 0, 0)
    """Phrases found rightly, found wrongly, and missing."""


class HostWords(Struct, frozen=True):
    """Words and blocks that occur on at least half of the pages of a host."""

    words: frozenset[str]
    blocks: frozenset[str]


def host_words(pages: Iterable[Page]) -> HostWords:
    """Count the words and blocks of a host's pages."""
    words: Counter[str] = Counter()
    blocks: Counter[str] = Counter()
    number = 0
    for page in pages:
        lines = block_lines(page.html)
        words.update({word for line in lines for word in _words(line)})
        blocks.update({_normal(line) for line in lines})
        number += 1
    half = max(2, number / 2)
    return HostWords(
        frozenset(word for word, count in words.items() if count > half),
        frozenset(block for block, count in blocks.items() if count >= half),
    )


def documentation_score(page: Page, found: str, host: HostWords) -> Score:
    """Compare the text of a page of documentation with the content that its generator marks."""
    gold_lines, either_lines = block_lines(page.gold), block_lines(page.either)
    score = Score(f"{page.host}/{page.name}")
    gold = Counter(word for line in gold_lines for word in _words(line) if word not in host.words)
    if gold:
        kept = Counter(_words(found))
        score.words = sum(min(count, kept[word]) for word, count in gold.items()) / gold.total()
    score.kinds = _kinds_kept(page.gold, found)
    _boilerplate(score, page, Counter(map(_normal, gold_lines + either_lines)), found, host)
    if gold_lines:
        score.f1 = f1(" ".join(gold_lines), found)
    return score


def article_score(page: Page, found: str) -> Score:
    """Compare the text of an article with its gold text, markup or phrases."""
    score = Score(f"{page.host}/{page.name}")
    if page.kept or page.left:
        shown = plain(found)
        right = sum(plain(phrase) in shown for phrase in page.kept)
        wrong = sum(plain(phrase) in shown for phrase in page.left)
        score.hits = (right, wrong, len(page.kept) - right)
        score.f1 = 2 * right / max(1, len(page.kept) + right + wrong)
    else:
        score.f1 = f1(page.text or " ".join(block_lines(page.gold)), found)
        score.kinds = _kinds_kept(page.gold, found) if page.gold else {}
    return score


def plain(text: str) -> str:
    """Return text as phrases are compared: with single spaces, without soft hyphens, in normal form (NFC)."""
    return normalize("NFC", _SPACE.sub(" ", text.replace("\xad", ""))).strip()


def letters(text: str) -> str:
    """Return the letters and digits of a text, to tell whether it occurs at all."""
    return _NOT_LETTERS.sub("", normalize("NFC", text)).lower()


def f1(gold: str, found: str) -> float:
    """Return the harmonic mean of precision and recall of words, each counted as often as it occurs."""
    wanted, got = Counter(_words(gold)), Counter(_words(found))
    both = (wanted & got).total()
    return 2 * both / (wanted.total() + got.total()) if both else 0.0


def block_lines(markup: str) -> list[str]:
    """Return the text of a page, one string per block, without what browsers do not show."""
    lines: list[str] = []
    pieces: list[str] = []

    def end() -> None:
        line = _SPACE.sub(" ", "".join(pieces)).strip()
        pieces.clear()
        if line:
            lines.append(line)

    stack: list[LexborNode | None] = [LexborHTMLParser(markup).body]
    while stack:
        node = stack.pop()
        if node is None:
            end()
        elif node.tag == "-text":
            pieces.append(node.text_content or "")
        elif node.tag not in _UNSHOWN:
            if node.tag in _BLOCKS:
                end()
                stack.append(None)
            stack += reversed(list(node.iter(include_text=True)))
    end()
    return lines


def _kinds_kept(gold: str, found: str) -> dict[str, float]:
    tree = LexborHTMLParser(gold)
    letters, shown = _NOT_LETTERS.sub("", found).lower(), _NOT_CODE.sub("", found)
    shares = {}
    for kind, selector in KINDS.items():
        pieces = [node.text() for node in tree.css(selector)]
        if kind == "code":
            codes = [code for piece in pieces if len(code := _NOT_CODE.sub("", piece)) >= 3]
            kept = [code in shown for code in codes]
        else:
            kept = [piece in letters for text in pieces if len(piece := _NOT_LETTERS.sub("", text).lower()) >= 3]
        if kept:
            shares[kind] = sum(kept) / len(kept)
    return shares


def _boilerplate(score: Score, page: Page, content: Counter[str], found: str, host: HostWords) -> None:
    outside = Counter(map(_normal, block_lines(page.html)))
    outside.subtract(content)
    told = [line for line, count in outside.items() if count > 0 and line not in content and _NOT_LETTERS.sub("", line)]
    whole = f" {' '.join(_words(found))} "
    content_text = f" {' '.join(content)} "
    pieces = {_normal(piece) for piece in _CELL_ENDS.split(found)}
    sizes = {True: [0, 0], False: [0, 0]}
    for line in told:
        number = line.count(" ") + 1
        is_left = line in pieces if number == 1 else f" {line} " in whole and f" {line} " not in content_text
        for key in {False, line in host.blocks}:
            sizes[key][0] += number
            sizes[key][1] += number * is_left
        if is_left and line in host.blocks:
            score.examples.append(line[:60])
    score.repeated = sizes[True][1] / sizes[True][0] if sizes[True][0] else None
    score.boilerplate = sizes[False][1] / sizes[False][0] if sizes[False][0] else None


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _normal(line: str) -> str:
    return " ".join(_words(line))
