"""What a worker does: it learns the hosts of a part of a fetch, or makes the main text of the pages of a part."""

from __future__ import annotations

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.crawldir.schemas import PARSE_TEXT
from scoter.batch.crawldir.segment import Segment
from scoter.batch.main_text.captures import Captures, PlaceFinder, html_places
from scoter.batch.main_text.hosts import SAMPLE, KnownHosts
from scoter.config import Config
from scoter.parse.main import KnownBlocks, block_fingerprints, main_content
from scoter.store.objects.copies import local_file
from scoter.store.objects.path import any_path

_BATCH: Final = 256
_MADE: Final = ("main_text", "markdown", "main_text_kept", "main_text_doubtful")


TaskKind: TypeAlias = Literal["choose", "learn", "make"]


class MainTextTask(Struct, frozen=True, kw_only=True):
    """The work on one part: ``choose`` pages to learn from, ``learn`` from them, or ``make`` the main text of all.

    ``only_known``: choose only pages of hosts of which others were chosen. ``into`` is where the result
    is kept instead of in the segment; ``lock`` is the token of the segment's lock, checked before it is.
    """

    kind: TaskKind
    config: Config
    segment: str
    part: str
    hosts: str
    only_known: bool = False
    markdown: bool = False
    into: str = ""
    lock: str = ""


def run_task(task: MainTextTask) -> Iterator[int]:
    """Do the work on a part, and yield how many pages are done since the last time."""
    segment = Segment(any_path(task.segment), Path(task.into) if task.into else None)
    with KnownHosts(Path(task.hosts)) as hosts, Captures(segment, task.config) as captures:
        if task.kind == "choose":
            _choose(task, segment, hosts)
        elif task.kind == "learn":
            _learn(task, segment, hosts, captures)
        else:
            yield from _make(task, segment, hosts, captures)


def _choose(task: MainTextTask, segment: Segment, hosts: KnownHosts) -> None:
    """Choose the pages from which is learnt what the pages of each host repeat."""
    found: defaultdict[str, list[int]] = defaultdict(list)  # as a heap of negative hashes: the greatest is the first
    for place in html_places(segment, task.part):
        least = found[place.host]
        (heapq.heappush if len(least) < SAMPLE else heapq.heappushpop)(least, -_hashed(place.url))
    chosen = {host: [-each for each in least] for host, least in found.items()}
    hosts.choose(chosen, only_known=task.only_known)


def _learn(task: MainTextTask, segment: Segment, hosts: KnownHosts, captures: Captures) -> None:
    """Learn from the chosen pages that are in a part."""
    samples: dict[str, frozenset[int]] = {}
    learnt: dict[str, KnownBlocks] = {}
    for place in html_places(segment, task.part):
        sample = samples.get(place.host)
        if sample is None:
            sample = samples[place.host] = hosts.sample(place.host)
        if _hashed(place.url) in sample and (markup := captures.markup(place)) is not None:
            learnt[place.host] = learnt.get(place.host, KnownBlocks()).add(block_fingerprints(markup.utf8))
    for host, blocks in learnt.items():
        hosts.add(host, blocks)


def _hashed(url: str) -> int:
    return int.from_bytes(hashlib.blake2b(url.encode(), digest_size=8).digest())


def _make(task: MainTextTask, segment: Segment, hosts: KnownHosts, captures: Captures) -> Iterator[int]:
    """Write a part like that of ``parse_text``, with the main text of its pages, and Markdown if it is wanted."""
    texts = segment.parse_text()
    part = segment.main_text(markdown=task.markdown).part(task.part.removesuffix(".parquet"))
    try:
        finder = PlaceFinder(segment, task.part)
        with pq.ParquetFile(local_file(texts.location(task.part)), pre_buffer=False) as file:
            for batch in file.iter_batches(_BATCH, columns=texts.schema.names):
                part.write(_filled(batch, finder, hosts, captures, markdown=task.markdown))
                yield batch.num_rows
        part.seal()
        segment.check_lock(task.lock)
        part.publish()
    except BaseException:
        part.discard()
        raise


def _filled(batch: Any, finder: PlaceFinder, hosts: KnownHosts, captures: Captures, *, markdown: bool) -> Any:
    """Return rows of ``parse_text`` with main text; a page without an archived copy keeps what it has."""
    rows = batch.num_rows
    columns: dict[str, list[Any]] = {
        name: batch.column(name).to_pylist() if name in batch.schema.names else [None] * rows  # an older part
        for name in ("url", "key", "part_of", *_MADE)
    }
    # An entry of a feed has no capture of its own.
    own: dict[int, str] = {
        row: url
        for row, (url, part_of) in enumerate(zip(columns["url"], columns["part_of"], strict=True))
        if not part_of
    }
    found = finder.places({url: columns["key"][row] for row, url in own.items()})
    wanted = [(place, row) for row, url in own.items() if (place := found.get(url)) is not None]
    for place, row in sorted(wanted, key=lambda each: (each[0].file, each[0].offset)):
        markup = captures.markup(place)
        if markup is not None:
            known = hosts.blocks(place.host)
            main = main_content(markup.utf8, base=markup.base, markdown=markdown, encoding=markup.encoding, known=known)
            made = (main.text or None, main.markdown or None, main.kept, main.doubtful)
            for name, value in zip(_MADE, made, strict=True):
                columns[name][row] = value
    return pa.RecordBatch.from_arrays(
        [
            pa.array(columns[field.name], field.type) if field.name in _MADE else batch.column(field.name)
            for field in PARSE_TEXT
        ],
        schema=PARSE_TEXT,
    )
