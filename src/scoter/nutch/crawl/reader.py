"""Read the files of a Nutch crawl as records, and count what was read and what could not be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec import Struct

from scoter.batch.fetchlists.lists import to_micros
from scoter.core.datum import DbStatus, FetchStatus, PartStatus, Status, short_name
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.nutch.crawl.codecs import Damage
from scoter.nutch.crawl.records import NutchDatum, read_key
from scoter.nutch.crawl.sequence_file import SequenceFile
from scoter.store.disk import disk_errors

MAX_PROBLEMS: Final = 100
"""Problems kept for display; further ones are only counted."""

_MAX_REASONS: Final = 20
STATUSES: Final[dict[int, Status]] = {each.value: each for kind in (DbStatus, FetchStatus, PartStatus) for each in kind}
_LAST: Final = to_micros(datetime.fromisoformat("9999-12-31T00:00:00+00:00"))
Record = TypeVar("Record")


class ImportProblem(Struct, frozen=True):
    """Something that was not imported: the file, the offset in it, and why."""

    file: str
    offset: int
    what: str


class PartCounts(Struct, kw_only=True):
    """The records of one kind: how many there are, how many were imported, and why others were not."""

    read: int = 0
    imported: int = 0
    left_out: Counter[str] = Counter()


class CrawlReader:
    """Reads files and collects counts and problems, by kind of record."""

    def __init__(self) -> None:
        self.counts: dict[str, PartCounts] = {}
        self.problems: list[ImportProblem] = []
        self.problem_count = 0

    def records(
        self, part: str, files: Iterable[Path], read: Callable[[bytes], Record]
    ) -> Iterator[tuple[Url, str, Record]]:
        """Yield the URL, the key and the value of every intact record whose key is a URL."""
        for key, record, file, at in self.values(part, files, read):
            try:
                url = canonical(key)
            except UrlError:
                self.leave_out(part, "not a URL", file, at, repr(key[:200]))
                continue
            yield url, key, record

    def values(
        self, part: str, files: Iterable[Path], read: Callable[[bytes], Record]
    ) -> Iterator[tuple[str, Record, Path, int]]:
        """Yield the key and the value of every intact record, with its file and offset."""
        count = self.of(part)
        for file in files:

            def note(at: int, what: str, file: Path = file) -> None:
                self.leave_out(part, "damaged", file, at, what)

            with disk_errors("read the Nutch crawl", file):
                for raw in SequenceFile(file, note):
                    count.read += 1
                    try:
                        found = read_key(raw.key), read(raw.value)
                    except Damage as failure:
                        note(raw.at, str(failure))
                        continue
                    yield *found, file, raw.at

    def of(self, part: str) -> PartCounts:
        """Return the counts of one kind of record."""
        return self.counts.setdefault(part, PartCounts(left_out=Counter()))

    def check_metadata(self, part: str, datum: NutchDatum) -> None:
        """Count a record with metadata that could not be read; the rest of it is imported."""
        if datum.unread:
            left_out = self.of(part).left_out
            reason = f"in part: {datum.unread}"
            if reason not in left_out and len(left_out) >= _MAX_REASONS:  # names of classes may be damaged
                reason = "in part: metadata of other classes cannot be read"
            left_out[reason] += 1

    def merged(self, part: str, rows: int) -> None:
        """Set how many rows were written; the others had the URL of another record."""
        count = self.of(part)
        count.left_out["same URL in canonical form"] += count.imported - rows
        count.imported = rows

    def leave_out(self, part: str, reason: str, file: Path, at: int, what: str) -> None:
        """Count a record that is not imported, and keep the details of the first ones."""
        self.of(part).left_out[reason] += 1
        self.add_problem(file, at, f"{reason}: {what}" if reason != "damaged" else what)

    def add_problem(self, file: Path, at: int, what: str) -> None:
        """Report a problem; only the first are kept."""
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(ImportProblem(str(file), at, what))


def micros(milliseconds: int) -> int:
    """Return a time of Nutch in microseconds since the epoch, within the range of our tables."""
    return min(max(milliseconds, 0) * 1_000, _LAST)


def datum_columns(url: Url, status: Status, datum: NutchDatum) -> tuple[Any, ...]:
    """Return a CrawlDatum as the columns of a record."""
    score = datum.score
    return (
        url.text,
        url.key,
        url.host,
        short_name(status),
        micros(datum.fetch_time),
        micros(datum.modified_time) if datum.modified_time > 0 else None,
        max(datum.retries, 0),
        max(datum.interval, 0),
        score if abs(score) < float("inf") else 0.0,  # neither infinite nor NaN
        datum.signature,
        list(datum.metadata.items()) or None,
    )
