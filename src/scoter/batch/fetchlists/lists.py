"""Fetch lists: which list a URL belongs to, and reading a list as requests.

All URLs of a host queue are in the same list, so that no two workers send requests to one server.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import md5
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from scoter.batch.worker.records import ETAG, LAST_MODIFIED, RequestContext, encode_context
from scoter.config import Config
from scoter.core.datum import EPOCH
from scoter.core.reply import Request
from scoter.core.url import Url, queue_key
from scoter.errors import UserError


def process_count(config: Config) -> int:
    """Return the maximum number of workers of a fetch, each with a fetch list."""
    return config.fetch.processes or len(os.sched_getaffinity(0))


def local_workers(config: Config) -> int:
    """Return the maximum number of workers of a fetch on this machine."""
    return process_count(config) if config.fetch.where == "here" else 0


def list_number(url: Url, mode: str, lists: int, buckets: Sequence[int] = ()) -> int:
    """Return the number of the list that a URL belongs to, whether it is in the segment or not.

    Queues fall into buckets by a hash. ``buckets`` has the list of each bucket (``balanced_buckets``); without it,
    there are as many buckets as lists. With queues by IP address there is only one list, because telling them apart
    would need DNS.

    >>> from scoter.core.url import canonical
    >>> [list_number(canonical(url), "host", 4) for url in ("http://example.org/", "https://example.org/b")]
    [0, 0]
    """
    if lists == 1 or mode == "ip":
        return 0
    return list_of_queue(queue_key(url, mode), lists, buckets)


def list_of_queue(key: str, lists: int, buckets: Sequence[int] = ()) -> int:
    """Return the number of the list that a queue belongs to."""
    hashed = queue_hash(key)
    return buckets[hashed % len(buckets)] if buckets else hashed % lists


@lru_cache(maxsize=16_384)
def queue_hash(key: str) -> int:
    """Return the hash by which a queue falls into a bucket: the first 32 bits of an MD5, the same on all machines."""
    return int(md5(key.encode(), usedforsecurity=False).hexdigest()[:8], 16)


def bucket_count(lists: int) -> int:
    """Return into how many buckets queues are divided: so many that most hosts of a small crawl have their own."""
    return max(_LEAST_BUCKETS, lists * _BUCKETS_PER_LIST)


def balanced_buckets(loads: Mapping[int, int], lists: int) -> tuple[int, ...]:
    """Return the list of each bucket, so that all lists get about the same number of URLs.

    The buckets with most URLs come first, and each goes to the list with the fewest (longest processing time first).
    No list gets more than 4/3 of the best possible division, or than the largest bucket. Empty buckets, for hosts that
    are found during the fetch, are dealt out in turn.

    >>> balanced = balanced_buckets({5: 10, 9: 30, 14: 20, 700: 20}, 3)
    >>> [balanced[bucket] for bucket in (9, 14, 700, 5)]
    [0, 1, 2, 1]
    """
    found = [number % lists for number in range(bucket_count(lists))]
    heap = [(0, number) for number in range(lists)]
    for bucket, urls in sorted(loads.items(), key=lambda each: (-each[1], each[0])):
        load, number = heap[0]
        found[bucket] = number
        heapq.heapreplace(heap, (load + urls, number))
    return tuple(found)


_LEAST_BUCKETS = 4_096
_BUCKETS_PER_LIST = 16
_BATCH = 1_024
_COLUMNS = ("url", "key", "host", "status", "modified_time", "retries", "interval", "score", "signature", "metadata")
_DELAY = "delay_ms"
_MICROSECOND = timedelta(microseconds=1)
_FETCHED = frozenset({"fetched", "notmodified"})


DelaySetter: TypeAlias = Callable[[Url, timedelta], None]


async def read_requests(
    files: Sequence[Path], extra: Sequence[str], set_delay: DelaySetter = lambda url, delay: None
) -> AsyncIterator[Request]:
    """Yield the requests of fetch lists, in order; only one batch is in memory at a time.

    ``set_delay`` is called with the delay of a URL's host before its request, if the list has one.
    """
    for file in files:
        for request in _read(file, extra, set_delay):
            yield request


def _read(file: Path, extra: Sequence[str], set_delay: DelaySetter) -> Iterator[Request]:
    try:
        # Threads and pre-buffering would each take 10 MB more.
        with pq.ParquetFile(file, pre_buffer=False) as opened:
            names = opened.schema_arrow.names
            present = [name for name in extra if name in names]
            delay = [_DELAY] if _DELAY in names else []  # older lists have none
            for batch in opened.iter_batches(_BATCH, columns=[*_COLUMNS, *present, *delay], use_threads=False):
                delays = batch.column(_DELAY) if delay and batch.column(_DELAY).null_count < batch.num_rows else None
                for number, request in enumerate(_requests(batch, present)):
                    if delays is not None and (ms := delays[number].as_py()) is not None:
                        set_delay(request.url, timedelta(milliseconds=ms))
                    yield request
    except (OSError, pa.ArrowException) as failure:
        first = str(failure).partition("\n")[0]
        raise UserError(f"cannot read the fetch list: {first}", where=str(file)) from failure


def _requests(batch: Any, extra: Sequence[str]) -> Iterator[Request]:
    columns = {name: batch.column(name) for name in batch.schema.names}
    columns["modified_time"] = columns["modified_time"].cast(pa.int64())
    own = zip(*(columns[name].to_pylist() for name in _COLUMNS), strict=True)
    added = zip(*(columns[name].to_pylist() for name in extra), strict=True) if extra else None
    for url, key, host, status, modified, retries, interval, score, signature, metadata in own:
        found = dict(metadata) if metadata else None
        known = RequestContext(
            modified=modified,
            retries=retries or 0,
            interval=interval or 0,
            score=score or 0.0,
            metadata=found,
            extra=None if added is None else _present(extra, next(added)),
        )
        # Send a conditional request only for a page that we have.
        is_conditional = status in _FETCHED and signature is not None
        yield Request(
            url=Url(url, key, host),
            last_modified=found.get(LAST_MODIFIED, "") if is_conditional and found else "",
            etag=found.get(ETAG, "") if is_conditional and found else "",
            headers=known.cookies() if found else (),
            context=encode_context(known),
        )


def _present(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any] | None:
    return {name: value for name, value in zip(names, values, strict=True) if value is not None} or None


def to_micros(moment: datetime) -> int:
    """Return a time as stored in a table.

    >>> to_micros(EPOCH)
    0
    """
    return (moment - EPOCH) // _MICROSECOND
