"""What the jobs over linkdbs share: the linkdb as it is, its links one by one, and as many of them as are kept."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import ibis
from msgspec import Struct

from scoter.batch import schemas
from scoter.batch.directory import CrawlDir
from scoter.engine import Source, source_of
from scoter.engine.port import Rows
from scoter.store.tables import Table
from scoter.store.tables.manifest import CURRENT


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


def known_links(linkdb: Rows) -> Rows:
    """Return the links of a linkdb one by one: url, key, source, anchor."""
    each = linkdb.unnest("inlinks")
    return each.select("url", "key", source=each.inlinks.url, anchor=each.inlinks.anchor)


def capped(links: Mapping[int, Rows], most: int) -> Rows:
    """Return links as rows of a linkdb: each source once for a target, and of a target's links the first.

    Links under a lower number come first, then those whose source sorts first; a source's links stand all under one
    number. The lists come in no order, since not
    every engine can collect in one; readers sort them.
    """
    found = ibis.union(
        *(
            rows.select("url", "key", "source", "anchor").mutate(age=ibis.literal(age, "int8"))
            for age, rows in links.items()
        )
    )
    # Both windows sort alike, so that an engine sorts once: measured 2.7 µs of CPU a link with the lists made, against
    # 4.6 where an aggregation by target and source went before.
    ordered = [found.age, found.source]
    ranked = found.mutate(
        rank=ibis.dense_rank().over(group_by=[found.url], order_by=ordered),
        before=found.source.lag().over(group_by=[found.url], order_by=[*ordered, found.anchor.desc()]),
    )
    first = ranked.filter((ranked.rank < most) & (ranked.before.isnull() | (ranked.before != ranked.source)))
    link = ibis.struct({"url": first.source, "anchor": first.anchor})
    return first.group_by("url").agg(key=first.key.min(), inlinks=link.collect())
