"""prune: remove segments that are in the tables, and outdated versions of tables.

A segment is first renamed, then its files are removed. If the job is killed in between, the next command that changes
the crawl removes the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir, applied_segments
from scoter.batch.crawldir.segment import Segment
from scoter.core.datum import later
from scoter.errors import UsageError
from scoter.store.disk import disk_errors
from scoter.store.tables import clean
from scoter.store.tables.local import storage_at
from scoter.store.tables.versions import current_manifest, unneeded_files


class PrunedItem(Struct, frozen=True, kw_only=True):
    """A removed segment or table version, and its size in bytes."""

    kind: str
    name: str
    size: int


class KeptSegment(Struct, frozen=True, kw_only=True):
    """A segment that is old enough to remove, and why it is kept."""

    name: str
    why: str


class PruneResult(Struct, frozen=True, kw_only=True):
    """What was removed, or would be in a dry run, and what was kept."""

    removed: tuple[PrunedItem, ...]
    spared: tuple[KeptSegment, ...]

    @property
    def size(self) -> int:
        return sum(each.size for each in self.removed)


def prune(
    crawl: CrawlDir,
    *,
    now: datetime,
    older_than: timedelta | None = None,
    keep: int | None = None,
    versions: bool = False,
    dry_run: bool = False,
    force: bool = False,
) -> PruneResult:
    """Remove segments that are older and not among the newest ``keep``; with ``versions`` also outdated versions.

    A segment that is not in the crawldb, or not in an existing linkdb, link graph or hostdb, is kept unless ``force``
    is set.
    """
    if older_than is None and keep is None and not versions:
        hint = "Use --segments-older-than, --keep-segments or --versions."
        raise UsageError("nothing to remove", hint=hint)
    if keep is not None and keep < 0:
        raise UsageError(f"must not be negative: {keep}", where="--keep-segments")
    removed: list[PrunedItem] = []
    spared: list[KeptSegment] = []
    tables = (
        ("crawldb", crawl.crawldb),
        ("linkdb", crawl.linkdb),
        ("link graph", crawl.webgraph / "links"),
        ("hostdb", crawl.hostdb),
    )
    known = {name: applied_segments(table) for name, table in tables}
    for segment in _old_enough(crawl, now, older_than, keep):
        why = "" if force else _reason_to_keep(segment, known)
        if why:
            spared.append(KeptSegment(name=segment.name, why=why))
            continue
        removed.append(PrunedItem(kind="segment", name=segment.name, size=_size(segment.path)))
        if not dry_run:
            crawl.remove_segment(segment)
    for table in (crawl.crawldb, crawl.linkdb, crawl.hostdb) if versions else ():
        removed += _prune_versions(table, dry_run)
    return PruneResult(removed=tuple(removed), spared=tuple(spared))


def _old_enough(crawl: CrawlDir, now: datetime, older_than: timedelta | None, keep: int | None) -> Iterator[Segment]:
    if older_than is None and keep is None:
        return
    segments = crawl.all_segments()
    for segment in segments[: max(len(segments) - (keep or 0), 0)]:
        if older_than is None or segment.info().created < later(now, -older_than):
            yield segment


def _reason_to_keep(segment: Segment, known: dict[str, frozenset[str] | None]) -> str:
    """Return why a segment must be kept; empty if it may be removed."""
    if not segment.is_fetched:
        return "not completely fetched"
    for name, names in known.items():
        # A missing linkdb, link graph or hostdb does not matter; a missing crawldb holds no segment.
        if (names is None and name == "crawldb") or (names is not None and not segment.is_in(names)):
            return f"not in the {name} yet"
    return ""


def _prune_versions(table: Path, dry_run: bool) -> list[PrunedItem]:
    place = storage_at(table)
    manifest = current_manifest(place)
    if manifest is None:
        return []
    # Files that newer versions share are not removed.
    sizes = {
        name: sum(_size(table / name / file) for file in files)
        for name, files in unneeded_files(place, manifest).items()
    }
    # A version that somebody is reading is kept.
    gone = sorted(sizes) if dry_run or not sizes else clean(table)
    return [PrunedItem(kind=table.name, name=name, size=sizes.get(name, 0)) for name in gone]


def _size(path: Path) -> int:
    with disk_errors("measure the folder", path):
        files = path.rglob("*") if path.is_dir() else [path]
        return sum(file.lstat().st_size for file in files if file.is_file())
