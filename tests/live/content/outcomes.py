"""Events for tests of the log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scoter.core.metadata import Image, PageMetadata
from scoter.live.api.records import Archived
from scoter.live.content.log_files import pieces
from scoter.live.records import ContentKind, Event, Hop, Related, State, UrlRecord

NOON = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)


class Clock:
    """A manual clock."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class FakeEvents:
    """Events in a list, pruned from the oldest on."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events = list(events)

    async def since(self, number: int, most: int) -> Sequence[Event]:
        return [event for event in self.events if event.number > number][:most]

    def last(self) -> int:
        return self.events[-1].number if self.events else 0

    def first(self) -> int:
        return self.events[0].number if self.events else 1

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        gone = self.events[:most]
        del self.events[:most]
        return len(gone)


def event(
    number: int,
    url: str = "",
    *,
    at: datetime | None = None,
    message: str = "",
    resolved: str = "",
    state: State = State.OK,
    kind: ContentKind = ContentKind.PAGE,
    fetch: str = "",
    status: int | None = 200,
    reason: str = "",
    title: str = "",
    image: str = "",
    fetched_at: datetime | None = None,
    related: Related | None = None,
    archived: Archived | None = None,
) -> Event:
    """Return an event; by default one second after the one before."""
    url = url or f"http://example.org/{number}"
    at = at or NOON + timedelta(seconds=number)
    about = PageMetadata(title=title, image=Image(url=image) if image else None) if title or image else None
    hops = (Hop(url, 301, permanent=True), Hop(resolved, status or 0)) if resolved else (Hop(url, status or 0),)
    record = UrlRecord(
        url=url,
        resolved=resolved or url,
        state=state,
        fetch=fetch or f"f{number}",
        fetched_at=fetched_at or at,
        expires_at=at + timedelta(days=1),
        status=status,
        reason=reason,
        hops=hops,
        kind=kind,
        metadata=about,
        related=related,
        archived=archived,
    )
    return Event(number=number, message=message or f"m{number}", url=url, at=at, record=record)


def logged(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a log, ordered by number."""
    tables = [pq.ParquetFile(piece.path(folder)).read() for piece in pieces(folder)]
    rows: list[dict[str, Any]] = pa.concat_tables(tables).to_pylist(maps_as_pydicts="lossy") if tables else []
    return sorted(rows, key=lambda row: (row["time"], row["number"]))


def files(folder: Path) -> list[str]:
    """Return the names of the log files with their days."""
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/*"))
