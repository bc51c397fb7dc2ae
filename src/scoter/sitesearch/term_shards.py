"""The shards of the inverted index: files of terms in alphabetical order, so that letters lead to a shard.

A shard is compressed with gzip. It begins with the length of a JSON object in four bytes, and the object:

- ``terms``: all terms, one per line
- ``sizes``: the bytes of each term's postings
- ``stems``: the stems that a word stands for, by the word's number

Then come the postings: the number of pages with the term, and groups of a level, a count, and the differences between
page numbers. All numbers are LEB128. Levels come in descending order; of a term in very many pages, only those with the
highest levels are listed.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from scoter.sitesearch.term_runs import LEVEL_BITS, TermEntry

LEVELS: Final = 1 << LEVEL_BITS
MOST_POSTINGS: Final = 20_000
SHARD_SIZE: Final = 32 * 1024
"""Bytes of a shard before compression, apart from those of its last term."""


def gzipped(data: bytes) -> bytes:
    """Compress with gzip, without a time."""
    made = zlib.compressobj(9, zlib.DEFLATED, 31)
    return made.compress(data) + made.flush()


class TermShard(NamedTuple):
    """A shard: its first term, the number of its terms, and its file."""

    first: str
    terms: int
    data: bytes


def shards(entries: Iterable[TermEntry], size: int = SHARD_SIZE) -> Iterator[TermShard]:
    """Yield the shards of an index."""
    terms: list[str] = []
    sizes: list[int] = []
    stems: dict[str, tuple[str, ...]] = {}
    data = bytearray()
    used = 0
    for entry in entries:
        encoded = encoded_postings(entry.postings)
        if terms and used + len(encoded) > size:
            yield _shard(terms, sizes, stems, data)
            terms, sizes, stems, data, used = [], [], {}, bytearray(), 0
        if entry.stems:
            stems[str(len(terms))] = entry.stems
        terms.append(entry.term)
        sizes.append(len(encoded))
        data += encoded
        used += len(encoded) + len(entry.key) // 2 + 4 + sum(map(len, entry.stems))
    if terms:
        yield _shard(terms, sizes, stems, data)


def _shard(terms: list[str], sizes: list[int], stems: dict[str, tuple[str, ...]], data: bytearray) -> TermShard:
    head = msgspec.json.encode({"terms": "\n".join(terms), "sizes": sizes, "stems": stems})
    return TermShard(terms[0], len(terms), gzipped(len(head).to_bytes(4, "little") + head + data))


def encoded_postings(postings: array[int]) -> bytes:
    """Return postings as they are in a shard.

    >>> encoded_postings(array("I", [3 << 4 | 2, 5 << 4 | 7, 260 << 4 | 2])).hex(" ")
    '03 07 01 05 02 02 03 81 02'
    """
    if not postings:
        return b""
    groups: list[list[int]] = [[] for _ in range(LEVELS)]
    for each in postings:
        groups[each & LEVELS - 1].append(each >> LEVEL_BITS)
    out = bytearray()
    _add(out, len(postings))
    room = MOST_POSTINGS
    for level in range(LEVELS - 1, -1, -1):
        pages = groups[level][:room]
        if not pages:
            continue
        room -= len(pages)
        _add(out, level)
        _add(out, len(pages))
        last = 0
        for page in pages:
            _add(out, page - last)
            last = page
    return bytes(out)


def _add(out: bytearray, number: int) -> None:
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
