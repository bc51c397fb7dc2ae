"""Assign candidates, in their order, to segments and fetch lists, within the limits for hosts, segments and traps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import md5
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec import Struct

from scoter.batch.fetchlists.lists import balanced_buckets, bucket_count, queue_hash
from scoter.batch.fetchlists.traps import TrapLimit
from scoter.batch.hosts.host_limits import LIMIT
from scoter.batch.urls.chains import UrlChains
from scoter.core.chain import keeps, respell
from scoter.core.url import Url, queue_key
from scoter.engine import Engine, TableSource, file_source
from scoter.engine.port import Rows
from scoter.fetch.queues.policy import Policies
from scoter.plugins.recorded import ibis
from scoter.store.tables.parquet import write_batches

IS_NEW = "is_new"
"""The column that says whether a URL was never fetched; only such URLs may be held back as traps."""
PICKED_SCHEMA = pa.schema(
    [("picked_url", pa.utf8()), ("segment", pa.int32()), ("bucket", pa.int32()), ("place", pa.int64())]
)
"""A picked URL: its segment, the bucket of its queue, and its position in its fetch list."""
_LISTS_SCHEMA = pa.schema([("list_segment", pa.int32()), ("list_bucket", pa.int32()), ("list", pa.int32())])


class FetchListLimits(Struct, frozen=True, kw_only=True):
    """How many URLs may be picked, and how they are distributed."""

    top_n: int | None = None
    segments: int = 1
    max_count: int | None = None
    count_mode: str = "host"
    partition: str = "host"
    lists: int = 1
    held: Mapping[str, datetime] = {}
    """Queues on hold, and until when; none of their URLs is picked."""
    queue_mode: str = "host"

    @property
    def total(self) -> int | None:
        return None if self.top_n is None else self.top_n * self.segments


class QueueLoad(Struct, frozen=True):
    """The URLs to fetch from a queue, those that are known with the ones over its limit, and the time between two."""

    queue: str
    urls: int
    known: int
    spacing: timedelta

    def least(self, urls: int) -> timedelta:
        """Return the time that the delays alone take for a number of URLs."""
        return self.spacing * max(urls - 1, 0)


class UrlPicker:
    """Picks URLs in the order in which they arrive.

    A host that has reached its limit in a segment continues in the next one and never goes back. If hosts are limited,
    one counter per host is kept in memory; for balanced fetch lists, one per bucket.
    """

    def __init__(self, limits: FetchListLimits, chains: UrlChains, traps: TrapLimit | None = None) -> None:
        self.filtered = self.capped = self.picked = self.on_hold = 0
        self.a_filtered = ""
        """One of the URLs that filters dropped."""
        self.deferred: dict[str, datetime] = {}
        """The queues on hold that had URLs to pick."""
        self._limits = limits
        self._chains = chains
        self._traps = traps
        self._counts: dict[str, tuple[int, int]] = {}
        self._over: Counter[str] = Counter()
        self._sizes = [0] * limits.segments
        self._bucket_count = bucket_count(limits.lists) if limits.lists > 1 else 1
        self._loads: dict[int, Counter[int]] = {}

    @property
    def is_full(self) -> bool:
        return self._limits.total is not None and self.picked >= self._limits.total

    def pick(self, batch: Any) -> Any:
        """Return the picked rows of a batch of URLs with their keys and hosts, and perhaps limits and ``IS_NEW``."""
        return pa.RecordBatch.from_pylist(list(self._rows(batch)), schema=PICKED_SCHEMA)

    def _rows(self, batch: Any) -> Iterator[dict[str, Any]]:
        limits, filters = self._limits, self._chains.filters
        columns = (batch.column(name).to_pylist() for name in ("url", "key", "host"))
        own = batch.column(LIMIT).to_pylist() if LIMIT in batch.schema.names else repeat(None, batch.num_rows)
        new = batch.column(IS_NEW).to_pylist() if IS_NEW in batch.schema.names else repeat(False, batch.num_rows)
        for *found, host_limit, is_new in zip(*columns, own, new, strict=True):
            if self.is_full:
                return
            url = Url(*found)
            if limits.held and self._is_held(url):
                self.on_hold += 1
                continue
            # Checking the host limit is cheaper than the filters, and the result is the same in either order.
            most = limits.max_count if host_limit is None else host_limit
            queue = self._queue_of(url) if most is not None else None
            segment = self._segment(queue, most)
            if segment is None:
                self.capped += 1
                if queue is not None and queue in self._counts:
                    self._over[queue] += 1
                continue
            if not keeps(url, filters):
                self.filtered += 1
                self.a_filtered = self.a_filtered or url.text
                continue
            if is_new and self._traps is not None and not self._traps.admits(url, self.picked):
                continue
            self.picked += 1
            self._sizes[segment] += 1
            if queue is not None:
                before, count = self._counts.get(queue, (segment, 0))
                self._counts[queue] = (segment, count + 1 if before == segment else 1)
            yield {
                "picked_url": url.text,
                "segment": segment,
                "bucket": self._bucket(url, segment),
                "place": shuffle_position(url.text),
            }

    def slowest(self, policies: Policies) -> QueueLoad | None:
        """Return the queue that takes longest, if URLs were counted by queue: its delays alone are a lower bound."""
        if self._limits.count_mode != self._limits.queue_mode or not self._counts:
            return None
        loads = (
            QueueLoad(queue, picked, picked + self._over[queue], policies(queue).spacing)
            for queue, (_, picked) in self._counts.items()
        )
        return max(loads, key=lambda load: load.least(load.known))

    def buckets(self) -> dict[int, tuple[int, ...]]:
        """Return the fetch list of each bucket, by segment; none if there is only one list."""
        lists = self._limits.lists
        return {segment: balanced_buckets(loads, lists) for segment, loads in self._loads.items()} if lists > 1 else {}

    def _bucket(self, url: Url, segment: int) -> int:
        if self._bucket_count == 1:
            return 0
        bucket = queue_hash(queue_key(url, self._limits.partition)) % self._bucket_count
        self._loads.setdefault(segment, Counter())[bucket] += 1
        return bucket

    def _is_held(self, url: Url) -> bool:
        key = queue_key(url, self._limits.queue_mode)
        until = self._limits.held.get(key)
        if until is not None:
            self.deferred[key] = until
        return until is not None

    def _segment(self, queue: str | None, most: int | None) -> int | None:
        """Return the first segment with room for this host, which may have ``most`` URLs, starting at its current."""
        limits = self._limits
        start, count = (0, 0) if queue is None else self._counts.get(queue, (0, 0))
        if most == 0:
            return None
        if most is not None and count >= most:
            start += 1
        for segment in range(start, limits.segments):
            if limits.top_n is None or self._sizes[segment] < limits.top_n:
                return segment
        return None

    def _queue_of(self, url: Url) -> str:
        chains = self._chains
        if chains.normalizers:
            url = respell(url, chains.normalizers, chains.scope, chains.loops) or url
        return queue_key(url, self._limits.count_mode)


def save_picked(batches: Iterable[Any], folder: Path) -> TableSource:
    """Write picked rows to a temporary file."""
    file = folder / "picked.parquet"
    write_batches(file, PICKED_SCHEMA, batches)
    return file_source(file, PICKED_SCHEMA)


def with_lists(engine: Engine, picked: Rows, buckets: Mapping[int, Sequence[int]], folder: Path) -> Rows:
    """Add the column ``list`` to picked rows; ``buckets`` are those of the picker."""
    if not buckets:
        return picked.mutate(list=ibis.literal(0, "int32"))
    rows = [(segment, bucket, number) for segment, lists in buckets.items() for bucket, number in enumerate(lists)]
    columns = [pa.array(values, pa.int32()) for values in zip(*rows, strict=True)]
    file = folder / "lists.parquet"
    write_batches(file, _LISTS_SCHEMA, [pa.RecordBatch.from_arrays(columns, schema=_LISTS_SCHEMA)])
    known = engine.read(file_source(file, _LISTS_SCHEMA))
    return picked.join(known, [picked.segment == known.list_segment, picked.bucket == known.list_bucket])


def shuffle_position(text: str) -> int:
    """Return a number that shuffles URLs deterministically.

    A fetch list in crawldb order would hold one host after the other.
    """
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:8], signed=True)
