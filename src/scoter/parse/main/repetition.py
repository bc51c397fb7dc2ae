"""What is known about the blocks of a host's pages: those on several pages are boilerplate."""

from __future__ import annotations

from collections.abc import Iterable
from struct import pack, unpack_from
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from scoter.parse.html.elements import name_set
from scoter.parse.main.boilerplate import unlinked, without
from scoter.parse.main.nodes import Element, Line
from scoter.parse.main.tables import is_data
from scoter.parse.main.tree import read_tree

MOST_PAGES: Final = 10
MOST_BLOCKS: Final = 2_000
"""Blocks of a page, and of a host, that are counted."""
LEAST_PAGES: Final = 3
"""Pages that must have a block for it to be boilerplate, and pages that must be known."""
SHARE: Final = 0.3
"""Share of the known pages that must have it."""
PROSE_SHARE: Final = 0.5
"""The same for text that is not mostly links, which some kinds of pages may share as content."""


class KnownBlocks(Struct, frozen=True):
    """How many of a host's pages have each block, by its fingerprint.

    >>> known = KnownBlocks()
    >>> for page in (b"<p>Home</p><p>a", b"<p>Home</p><p>b", b"<p>Home</p><p>c"):
    ...     known = known.add(block_fingerprints(page))
    >>> known.pages, len(known.repeated()), known == KnownBlocks.from_bytes(known.to_bytes())
    (3, 1, True)
    """

    pages: int = 0
    counts: dict[int, int] = {}

    def add(self, blocks: Iterable[int]) -> KnownBlocks:
        """Return this with one more page; unchanged if it has enough."""
        return self if self.pages >= MOST_PAGES else self.merge(KnownBlocks(1, dict.fromkeys(blocks, 1)))

    def merge(self, other: KnownBlocks) -> KnownBlocks:
        """Return both together."""
        counts = dict(self.counts)
        for block, count in other.counts.items():
            counts[block] = counts.get(block, 0) + count
        pages = self.pages + other.pages
        if len(counts) > MOST_BLOCKS * LEAST_PAGES:
            kept = sorted(counts, key=lambda block: (-counts[block], block))[: MOST_BLOCKS * LEAST_PAGES]
            counts = {block: counts[block] for block in kept}
        return KnownBlocks(pages, counts)

    def repeated(self, share: float = SHARE) -> frozenset[int]:
        """Return the blocks that at least a share of the pages have, or none if too few pages are known."""
        if self.pages < LEAST_PAGES:
            return frozenset()
        least = max(LEAST_PAGES, share * self.pages)
        return frozenset(block for block, count in self.counts.items() if count >= least)

    def to_bytes(self) -> bytes:
        blocks = sorted(self.counts)
        return pack(
            f"<HI{len(blocks)}Q{len(blocks)}H",
            min(self.pages, 65_535),
            len(blocks),
            *blocks,
            *(min(self.counts[block], 65_535) for block in blocks),
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> KnownBlocks:
        pages, size = unpack_from("<HI", data)
        values = unpack_from(f"<{size}Q{size}H", data, 6)
        return cls(pages, dict(zip(values[:size], values[size:], strict=True)))


def block_fingerprints(markup: bytes) -> tuple[int, ...]:
    """Return the fingerprints of a page's blocks, sorted."""
    return fingerprints(read_tree(markup).body)


def fingerprints(body: Element) -> tuple[int, ...]:
    """Return the fingerprints of the blocks in a tree, sorted."""
    found = {fingerprint(words) for words in _texts(body)}
    return tuple(sorted(found)[:MOST_BLOCKS])


def fingerprint(words: str) -> int:
    return xxh3_64_intdigest(words.encode("utf-8", "surrogatepass"))


def _texts(body: Element) -> list[str]:
    return [
        child.words for element in body.elements() for child in element.children if type(child) is Line and child.words
    ]


def remove_repeated(body: Element, known: KnownBlocks) -> None:
    """Remove the blocks that are known from other pages."""
    repeated = known.repeated()
    if repeated:
        _Remover(body, repeated, known.repeated(PROSE_SHARE))


_KEPT: Final = name_set("h1 h2 h3 h4 h5 h6 dt th caption summary legend")
_ENOUGH: Final = 80
_TITLE: Final = 40  # characters of a title that is no heading
_LEFT: Final = 200  # characters without links that a page must keep


class _Remover:
    """Removes stretches of repeated lines.

    Headings, terms and column heads are often the same on many pages (Options, See also). So a stretch ends before a
    heading that something new follows, and a short one is removed only at the start or end of the page. The start
    reaches beyond the page's title, or what else is short. Cells of a data table stay if any of them is new.
    """

    def __init__(self, body: Element, repeated: frozenset[int], often: frozenset[int]) -> None:
        self._repeated = repeated
        self._often = often
        self._lines: list[tuple[Line | None, Element]] = []
        self._kept: set[int] = set()  # lines of tables
        self._collect(body)
        gone: set[int] = set()
        stretch: list[tuple[Line, Element]] = []
        at_start, new = True, 0
        for line, around in self._lines:
            if line is not None and (not line.words or self._is_repeated(line)):
                if line.words:
                    stretch.append((line, around))
                continue
            if stretch:
                self._end(stretch, gone, at_edge=at_start, before_new=True)
            stretch = []
            new += (
                0
                if line is not None and around.tag == "h1"
                else len(around.code)
                if line is None
                else len(line.words) - line.linked
            )
            at_start = at_start and new <= _TITLE
        if stretch and not at_start:
            self._end(stretch, gone, at_edge=True, before_new=False)
        left = unlinked(body) - sum(
            len(line.words) - line.linked for line, _ in self._lines if id(line) in gone and line
        )
        if gone and left >= _LEFT:  # otherwise it is a page that says the same as others
            without(body, gone)

    def _is_repeated(self, line: Line) -> bool:
        return fingerprint(line.words) in self._repeated and id(line) not in self._kept

    def _collect(self, element: Element) -> None:
        if element.tag == "table" and 2 * element.linked < element.size and is_data(element):
            lines = [child for each in element.elements() for child in each.children if type(child) is Line]
            if any(line.words and fingerprint(line.words) not in self._repeated for line in lines):
                self._kept.update(map(id, lines))
        if element.code:
            self._lines.append((None, element))
        for child in element.children:
            if type(child) is Line:
                self._lines.append((child, element))
            elif type(child) is Element:
                self._collect(child)

    def _end(self, stretch: list[tuple[Line, Element]], gone: set[int], *, at_edge: bool, before_new: bool) -> None:
        if before_new:
            while stretch and stretch[-1][1].tag in _KEPT and not (at_edge and stretch[-1][1].tag == "h1"):
                stretch.pop()
        size = sum(len(line.words) for line, _ in stretch)
        linked = sum(line.linked for line, _ in stretch)
        is_linked = 2 * linked > size
        if at_edge or size >= _ENOUGH or is_linked:
            gone.update(id(line) for line, _ in stretch if is_linked or fingerprint(line.words) in self._often)
