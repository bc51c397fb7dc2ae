"""What the jobs over linkdbs share: the linkdb as it is, its links one by one, and as many of them as are kept."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.engine import Engine, Source, source_of
from scoter.engine.port import Rows
from scoter.errors import UsageError, typed
from scoter.store.tables import Table
from scoter.store.tables.versions import CURRENT

_WEIGHT = 5.0
"""Links that are gathered into lists take this many times the memory of rows that are joined: 2 million, 58 MB in
Parquet, do not fit into 1 GiB at once, and fit in four ranges."""
_URLS = pa.schema([("url", pa.utf8())])


class Known(Struct, frozen=True):
    """The linkdb before a job: its rows, how many, and the segments whose links are in it."""

    source: Source
    rows: int = 0
    applied: frozenset[str] = frozenset()


@contextmanager
def linkdb_of(crawl: CrawlDir) -> Iterator[Known]:
    """Keep the current version of a crawl's linkdb while it is read; a linkdb that is not there yet is empty."""
    if not (crawl.linkdb / CURRENT).exists():
        yield Known(Source(files=(), schema=schemas.LINKDB, defaults={}, is_sorted=True))
        return
    with Table.open(crawl.linkdb, schemas.LINKDB) as table:
        manifest = table.manifest
        yield Known(source_of(table, is_sorted=True), manifest.rows, frozenset(manifest.applied))


def weighed(inputs: Mapping[str, Source]) -> dict[str, Source]:
    """Return what a job over links reads, with what it weighs."""
    return {name: replace(source, weight=_WEIGHT) for name, source in inputs.items()}


def known_links(linkdb: Rows) -> Rows:
    """Return the links of a linkdb one by one: url, key, source, anchor."""
    each = linkdb.unnest("inlinks")
    return each.select("url", "key", source=each.inlinks.url, anchor=each.inlinks.anchor)


def crowded(engine: Engine, links: Sequence[Source], linkdbs: Sequence[Source], most: int, file: Path) -> Rows | None:
    """Return the URLs that may have more than so many links in all; nothing when there are none, as nearly always."""
    single = [engine.read(each).select("url") for each in links]
    known = [engine.read(each) for each in linkdbs]
    counts = [
        *(rows.mutate(links=ibis.literal(1, "int64")) for rows in single),
        *(rows.select("url", links=rows.inlinks.length().cast("int64")) for rows in known),
    ]
    found = ibis.union(*counts)
    totals = found.group_by("url").agg(links=found.links.sum())
    if not engine.save(totals.filter(totals.links > most), _URLS, file):
        return None
    return engine.read(Source(files=(str(file),), schema=_URLS, defaults={}))


def capped(links: Mapping[int, Rows], most: int, crowds: Rows | None) -> Rows:
    """Return links as rows of a linkdb: each source once for a target, and of those in ``crowds`` the first links.

    Links under a lower number come first, then those whose source sorts first. The lists come in no order, since not
    every engine can collect in one; readers sort them.
    """
    parts = [
        rows.select("url", "key", "source", anchor=rows.anchor.fill_null("")).mutate(age=ibis.literal(age, "int8"))
        for age, rows in links.items()
    ]
    found = ibis.union(*parts)
    once = found.group_by(["url", "source"]).agg(key=found.key.min(), age=found.age.min(), anchor=found.anchor.max())
    if crowds is not None:
        # A window keeps all it sorts in memory, so that only the few crowds go through one.
        crowd = once.semi_join(crowds, "url")
        place = ibis.row_number().over(group_by=crowd.url, order_by=[crowd.age, crowd.source])
        first = crowd.mutate(place=place)
        once = ibis.union(first.filter(first.place < most).drop("place"), once.anti_join(crowds, "url"))
    # A list of structs takes DuckDB more than twice the memory that a list of texts does: 2 million links did not fit
    # into 730 MB. A URL has no line break in it.
    lists = once.group_by("url").agg(key=once.key.min(), texts=(once.source + "\n" + once.anchor).collect())
    return lists.select("url", "key", inlinks=lists.texts.map(_link))


def _link(text: Any) -> Any:
    end = text.find("\n")
    return ibis.struct({"url": text.substr(0, end), "anchor": text.substr(end + 1)})


def open_linkdb(crawl: CrawlDir) -> Table:
    """Return the linkdb."""
    if not crawl.linkdb.exists():
        hint = f"Make one of parsed segments: scoter invertlinks {typed(crawl.path)}"
        raise UsageError("there is no linkdb yet", where=str(crawl.path), hint=hint)
    return Table.open(crawl.linkdb, schemas.LINKDB)
