"""The columns of the log, the row of an event, and the timings of outcomes.

One row is one outcome: a URL of a message that is done. Several rows share a ``fetch_id`` if they joined one fetch or
were answered from the store.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

import pyarrow as pa
from msgspec import Struct

from scoter.api import Archived
from scoter.core.domain import registered_domain
from scoter.core.metadata import PageMetadata
from scoter.core.url import canonical
from scoter.errors import UrlError
from scoter.live.context import Context
from scoter.live.records import Event, Related, UrlRecord
from scoter.store.warc.writer import utc_now

TIME: Final = pa.timestamp("us", tz="UTC")
HOP: Final = pa.struct([("url", pa.utf8()), ("status", pa.int32()), ("permanent", pa.bool_())])
LOG: Final = pa.schema(
    [
        ("number", pa.int64()),
        ("time", TIME),
        ("message_id", pa.utf8()),
        ("fetch_id", pa.utf8()),
        ("fetched_at", TIME),
        ("submitted", pa.utf8()),
        ("submitted_domain", pa.utf8()),
        ("url", pa.utf8()),
        ("resolved", pa.utf8()),
        ("host", pa.utf8()),
        ("domain", pa.utf8()),
        ("state", pa.utf8()),
        ("status", pa.int32()),
        ("reason", pa.utf8()),
        ("detail", pa.utf8()),
        ("kind", pa.utf8()),
        ("content_type", pa.utf8()),
        ("length", pa.int64()),
        ("truncated", pa.bool_()),
        ("hops", pa.int32()),
        ("chain", pa.list_(HOP)),
        ("title", pa.utf8()),
        ("site_name", pa.utf8()),
        ("language", pa.utf8()),
        ("image_url", pa.utf8()),
        ("image_type", pa.utf8()),
        ("image_width", pa.int32()),
        ("image_height", pa.int32()),
        ("image_bytes", pa.int64()),
        ("stages", pa.map_(pa.utf8(), pa.float64())),
        ("waited_ms", pa.float64()),
        ("remote_ms", pa.float64()),
        ("total_ms", pa.float64()),
        ("warc_file", pa.utf8()),
        ("warc_offset", pa.int64()),
        ("warc_length", pa.int64()),
    ]
)
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
        record.reason or None,
        record.detail or None,
        record.kind.value,
        record.content_type or None,
        record.length,
        record.truncated,
        len(record.hops),
        [{"url": hop.url, "status": hop.status, "permanent": hop.permanent} for hop in record.hops],
        *_said(record.metadata),
        *_image(record),
        None if timing is None else timing.stages,
        None if timing is None else timing.waited,
        None if timing is None else timing.remote,
        None if timing is None else timing.total,
        *_place(record.archived),
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


def _said(about: PageMetadata | None) -> tuple[str | None, str | None, str | None]:
    if about is None:
        return None, None, None
    return about.title or None, about.site_name or None, about.language or None


def _image(record: UrlRecord) -> tuple[str | None, str | None, int | None, int | None, int | None]:
    """Return the preview image, as fetched or else as the page describes it."""
    related: Related | None = record.related
    image = related.image if related is not None else record.metadata.image if record.metadata is not None else None
    if image is None:
        return None, None, None, None, None
    size = related.bytes if related is not None and related.bytes else None
    return image.url, image.media_type or None, _bounded(image.width), _bounded(image.height), size


def _bounded(number: int | None) -> int | None:
    return None if number is None else max(-1, min(number, _LARGEST))


def _place(archived: Archived | None) -> tuple[str | None, int | None, int | None]:
    return (None, None, None) if archived is None else (archived.file, archived.offset, archived.length)


MAX_TIMINGS: Final = 50_000
"""Outcomes whose timings wait for the log: about three minutes at 300 per second, 25 MB."""


class OutcomeTiming(Struct, frozen=True, gc=False):
    """Milliseconds by stage, waiting for slots, waiting for servers, and from acceptance to record."""

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
