"""An inverted index that is built within bounded memory: sorted runs in a temporary file each, which are merged."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from struct import Struct as Layout
from typing import IO, Final, NamedTuple

import msgspec

LEVEL_BITS: Final = 4
MOST_PAGES: Final = 1 << (32 - LEVEL_BITS)
_KEY_COST: Final = 60  # what a key takes in memory, counted in postings
_HEAD: Final = Layout("<I")
_encode = msgspec.msgpack.Encoder().encode


class TermEntry(NamedTuple):
    """A term: the stems it stands for as a word, and its postings as a stem.

    A posting is the number of a page and a level, which says how much the page is about the term.
    """

    key: bytes
    stems: tuple[str, ...]
    postings: array[int]

    @property
    def term(self) -> str:
        return self.key.decode("utf-16-be")


class TermRuns:
    """Collects the terms of pages; ``memory`` is in postings, of which each takes four bytes."""

    def __init__(self, folder: Path, memory: int = 8_000_000) -> None:
        self._folder = folder
        self._memory = memory
        self._runs: list[Path] = []
        self._postings: dict[str, array[int]] = {}
        self._stems: dict[str, set[str]] = {}
        self._used = 0

    def add(self, page: int, levels: Mapping[str, int], stems_of: Mapping[str, str]) -> None:
        """Add a page; ``levels`` are those of its stems. Pages must come in the order of their numbers."""
        for stem, level in levels.items():
            found = self._postings.get(stem)
            if found is None:
                found = self._postings[stem] = array("I")
                self._used += _KEY_COST
            found.append(page << LEVEL_BITS | level)
        for word, stem in stems_of.items():
            if word != stem:
                known = self._stems.get(word)
                if known is None:
                    known = self._stems[word] = set()
                    self._used += _KEY_COST
                known.add(stem)
        self._used += len(levels)
        if self._used > self._memory:
            self._spill()

    def merged(self) -> Iterator[TermEntry]:
        """Yield all terms in the order of UTF-16, which is that of scripts."""
        runs: list[Iterable[TermEntry]] = [_read(run) for run in self._runs]
        merged = heapq.merge(*runs, self._sorted(), key=_key)
        for key, group in groupby(merged, _key):
            first, *others = group
            stems = set(first.stems)
            postings = first.postings
            for each in others:  # runs come in the order of their pages, because merging is stable
                stems.update(each.stems)
                postings = postings + each.postings
            yield TermEntry(key, tuple(sorted(stems)), postings)

    def _sorted(self) -> Iterator[TermEntry]:
        keys = sorted((term.encode("utf-16-be"), term) for term in self._postings.keys() | self._stems.keys())
        for key, term in keys:
            yield TermEntry(key, tuple(sorted(self._stems.get(term, ()))), self._postings.get(term, array("I")))

    def _spill(self) -> None:
        path = self._folder / f"run-{len(self._runs)}"
        with path.open("wb") as file:
            for key, stems, postings in self._sorted():
                record = _encode((key, stems, postings.tobytes()))
                file.write(_HEAD.pack(len(record)) + record)
        self._runs.append(path)
        self._postings, self._stems, self._used = {}, {}, 0


def _key(entry: TermEntry) -> bytes:
    return entry.key


def _read(path: Path) -> Iterator[TermEntry]:
    decode = msgspec.msgpack.Decoder(tuple[bytes, tuple[str, ...], bytes]).decode
    with path.open("rb") as file:
        while head := file.read(_HEAD.size):
            key, stems, data = decode(_exactly(file, *_HEAD.unpack(head)))
            yield TermEntry(key, stems, array("I", data))


def _exactly(file: IO[bytes], size: int) -> bytes:
    return file.read(size)
