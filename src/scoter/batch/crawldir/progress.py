"""``progress.jsonl``: the progress of the commands on a crawl, for programs that watch it.

One ``ProgressPoint`` per line, at most one per second unless the step changes. When the file exceeds a megabyte, every
second point of its older part is dropped, so it covers the whole crawl in a bounded size: older parts in less detail.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from scoter.batch.api.records import HostLatency, ProgressPoint
from scoter.errors import UserError
from scoter.store.objects.copies import process_folder
from scoter.store.objects.path import StorePath

PROGRESS = "progress.jsonl"
MAX_SIZE = 2**20
_RECENT = 600  # points that are never dropped: ten minutes
_INTERVAL = 1.0
_UPLOAD_INTERVAL = 30.0  # seconds, in an object store
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ProgressPoint).decode


class ProgressLog:
    """Appends the progress of a command to the file of its crawl. A failure to write never ends the command."""

    def __init__(
        self,
        folder: Path,
        command: str,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        timer: Callable[[], float] = time.monotonic,
        max_size: int = MAX_SIZE,
    ) -> None:
        self._remote = folder / PROGRESS if isinstance(folder, StorePath) else None
        self._file = folder / PROGRESS if not isinstance(folder, StorePath) else process_folder() / PROGRESS
        self._next_upload = 0.0
        self._command = command
        self._clock = clock
        self._timer = timer
        self._max_size = max_size
        self._step: tuple[Any, ...] = ()
        self._skipped: ProgressPoint | None = None
        self._next = 0.0

    def add(self, step: str, *, is_last: bool = False, **facts: Any) -> None:
        """Record the state of a step; within a second of the last point, only if it is the last one of its step."""
        now = self._timer()
        point = ProgressPoint(time=self._clock(), command=self._command, step=step, **facts)
        current = (step, point.round)
        if current == self._step and now < self._next and not is_last:
            self._skipped = point
            return
        if self._skipped is not None and current != self._step:
            self._write(self._skipped)
        self._step, self._next, self._skipped = current, now + _INTERVAL, None
        self._write(point)

    def _write(self, point: ProgressPoint) -> None:
        with suppress(OSError):
            # Opened for each point: another command may replace the file when it drops points.
            handle = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(handle, _encode(point) + b"\n")
                is_large = os.fstat(handle).st_size > self._max_size
            finally:
                os.close(handle)
            if is_large:
                self._thin()
        if self._remote is not None and (self._timer() >= self._next_upload or point.ended):
            self._upload(self._remote)

    def _upload(self, remote: StorePath) -> None:
        """Publish the points so far; the first time, after those of earlier commands."""
        with suppress(OSError, UserError):
            if not self._next_upload:
                before = remote.client.get(remote.key)
                points = self._file.read_bytes()
                self._file.write_bytes((before.data if before is not None else b"") + points)
            self._next_upload = self._timer() + _UPLOAD_INTERVAL
            remote.client.put(remote.key, self._file.read_bytes())

    def _thin(self) -> None:
        points = parse_points(self._file.read_bytes())
        old, recent = points[:-_RECENT], points[-_RECENT:]
        # The ends of rounds and commands are kept as long as possible.
        kept = [each for number, each in enumerate(old) if number % 2 or each.new_urls is not None or each.ended]
        if len(kept) > len(old) * 3 // 4:
            kept = kept[len(kept) // 4 :]
        new = self._file.with_name(f"{PROGRESS}.new")
        new.write_bytes(b"".join(_encode(each) + b"\n" for each in (*kept, *recent)))
        new.replace(self._file)


def parse_points(data: bytes) -> list[ProgressPoint]:
    """Return the points in lines of the file; damaged lines are skipped."""
    found = []
    for line in data.splitlines():
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            found.append(_decode(line))
    return found


def read_points(folder: Path, most: int | None = None) -> list[ProgressPoint]:
    """Return the points of a crawl, thinned evenly to ``most``; the last one is always included."""
    try:
        points = parse_points((folder / PROGRESS).read_bytes())
    except OSError:
        return []
    return points if most is None else thinned(points, most)


def thinned(points: Sequence[ProgressPoint], most: int) -> list[ProgressPoint]:
    """Return at most ``most`` points, evenly spread; those at the end of a round take precedence."""
    if len(points) <= most:
        return list(points)
    if most <= 0:
        return []
    ends = [number for number, each in enumerate(points) if each.new_urls is not None or each.ended]
    chosen = {len(points) - 1, *(ends[-(most // 2) :] if most > 1 else ())}
    step = len(points) / max(most - len(chosen), 1)
    spread = (int(number * step) for number in range(max(most - len(chosen), 0)))
    return [points[number] for number in sorted(chosen | set(spread))]


def fetch_facts(state: Any) -> dict[str, Any]:
    """Return the facts of a point from a ``FetchProgress``."""
    return {
        "share": min(1.0, state.done / state.total) if state.total else None,
        "total": state.total,
        "done": state.done,
        "pages": state.pages,
        "pages_per_second": round(state.pages_per_second, 3),
        "bytes_per_second": round(state.kilobytes_per_second * 1000),
        "active": state.active,
        "queued": state.queued,
        "errors": state.errors_by_kind,
        "slowest_hosts": tuple(HostLatency(host, round(seconds, 1)) for host, seconds in state.slowest),
        "seconds_left": None if state.seconds_left is None else round(state.seconds_left, 1),
        "why": state.why,
    }
