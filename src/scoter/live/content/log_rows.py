"""The columns of the log, the row of an event, and the timings of outcomes.

One row is one outcome: a URL of a message that is done. Several rows share a ``fetch_id`` if they joined one fetch or
were answered from the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import astuple

from scoter.core.domain import registered_domain
from scoter.core.metadata import PageMetadata
from scoter.core.url import canonical
from scoter.errors import UrlError
from scoter.live.pipeline.context import Context
from scoter.live.records import Event, UrlRecord
from scoter.store.warc.writer import utc_now

TIME: Final = pa.timestamp("us", tz="UTC")
HOP: Final = pa.struct([("url", pa.utf8()), ("status", pa.int32()), ("permanent", pa.bool_())])
_TEXT: Final = pa.utf8()
_COLUMNS: Final = (
    (pa.int64(), "number"),
    (TIME, "time"),
    (_TEXT, "message_id fetch_id"),
    (TIME, "fetched_at"),
    (_TEXT, "submitted submitted_domain url resolved host domain state"),
    (pa.int32(), "status"),
    (_TEXT, "reason detail kind content_type"),
    (pa.int64(), "length"),
    (pa.bool_(), "truncated"),
    (pa.int32(), "hops"),
    (pa.list_(HOP), "chain"),
    (_TEXT, "title site_name language image_url image_type"),
    (pa.int32(), "image_width image_height"),
    (pa.int64(), "image_bytes"),
    (pa.map_(_TEXT, pa.float64()), "stages"),
    (pa.float64(), "waited_ms remote_ms total_ms"),
    (_TEXT, "warc_file"),
    (pa.int64(), "warc_offset warc_length"),
    (_TEXT, "tenant"),
)
LOG: Final = pa.schema([(name, kind) for kind, names in _COLUMNS for name in names.split()])
Row: TypeAlias = tuple[Any, ...]

_LARGEST: Final = 2**31 - 1  # pages may claim any image size


def row_of(event: Event, timing: OutcomeTiming | None) -> Row:
    """Return the row of an event, in the order of ``LOG``; without a timing its columns are null."""
    record = event.record
    host, domain = _site(record.resolved)
    return (
        event.number,
        event.at,
        event.message,
        record.fetch,
        record.fetched_at,
        event.url,
        _site(event.url)[1],
        record.url,
        record.resolved,
        host,
        domain,
        record.state.value,
        record.status,
        *_why(record),
        record.kind.value,
        record.content_type or None,
        record.length,
        record.truncated,
        len(record.hops),
        [{"url": hop.url, "status": hop.status, "permanent": hop.permanent} for hop in record.hops],
        *_said(record.metadata),
        *_image(record),
        *_values(timing, 4),
        *_values(record.archived, 3),
        event.tenant or None,
    )


def table_of(rows: Sequence[Row]) -> Any:
    """Return rows as an Arrow table."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(LOG)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, LOG, strict=True)], schema=LOG
    )


def _site(url: str) -> tuple[str | None, str | None]:
    try:
        host = canonical(url).host
    except UrlError:
        return None, None
    return host, registered_domain(host)


def _why(record: UrlRecord) -> Row:
    """Return reason and detail of a failure; of a stale record, those of the last attempt."""
    found = record.stale or record
    return found.reason or None, found.detail or None


def _said(about: PageMetadata | None) -> Row:
    return (None,) * 3 if about is None else (about.title or None, about.site_name or None, about.language or None)


def _image(record: UrlRecord) -> Row:
    """Return the preview image, as fetched or else as the page describes it."""
    related = record.related
    image = related.image if related is not None else record.metadata.image if record.metadata is not None else None
    if image is None:
        return (None,) * 5
    size = related.bytes if related is not None and related.bytes else None
    return image.url, image.media_type or None, _bounded(image.width), _bounded(image.height), size


def _bounded(number: int | None) -> int | None:
    return None if number is None else max(-1, min(number, _LARGEST))


def _values(record: Struct | None, count: int) -> tuple[Any, ...]:
    """Return the fields of a record, or as many nulls."""
    return (None,) * count if record is None else astuple(record)


MAX_TIMINGS: Final = 50_000
"""Outcomes whose timings wait for the log: about three minutes at 300 per second, 25 MB."""


class OutcomeTiming(Struct, frozen=True, gc=False):
    """Milliseconds by stage, waiting for slots, waiting for servers, and from intake to record."""

    stages: tuple[tuple[str, float], ...] = ()
    waited: float = 0.0
    remote: float = 0.0
    total: float = 0.0


def timing_of(context: Context, now: datetime) -> OutcomeTiming:
    """Return the timings of an outcome that has just been recorded."""
    return OutcomeTiming(
        stages=tuple((name, seconds * 1000) for name, seconds in context.timings),
        waited=context.waited * 1000,
        remote=context.remote * 1000,
        total=max(0.0, (now - context.entry.accepted).total_seconds() * 1000),
    )


class OutcomeTimings:
    """Timings by message and URL until they are logged; beyond ``most`` the oldest are dropped."""

    def __init__(self, most: int = MAX_TIMINGS, clock: Callable[[], datetime] = utc_now) -> None:
        self._most = most
        self._clock = clock
        self._found: dict[tuple[str, str], OutcomeTiming] = {}

    def __len__(self) -> int:
        return len(self._found)

    def note(self, context: Context) -> None:
        """Store the timings of an outcome (the ``on_done`` of ``Scheduler``)."""
        self.put(context.entry.message, context.entry.url, timing_of(context, self._clock()))

    def put(self, message: str, url: str, timing: OutcomeTiming) -> None:
        self._found[message, url] = timing
        if len(self._found) > self._most:
            del self._found[next(iter(self._found))]

    def get(self, message: str, url: str) -> OutcomeTiming | None:
        return self._found.get((message, url))

    def forget(self, logged: Iterable[tuple[str, str]]) -> None:
        """Drop the timings of logged outcomes."""
        for each in logged:
            self._found.pop(each, None)
