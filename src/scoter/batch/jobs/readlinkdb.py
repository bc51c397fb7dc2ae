"""readlinkdb: the inlinks of a URL, or the rows of the linkdb."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import open_linkdb
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.lookup import url_pattern, url_rows
from scoter.core.pattern import Pattern
from scoter.core.url import canonical
from scoter.engine.sources import source_of


def inlinks(crawl: CrawlDir, url: str) -> list[dict[str, str]] | None:
    """Return the inlinks of a URL, sorted by source, or ``None`` if it is not in the linkdb."""
    wanted = canonical(url)
    with open_linkdb(crawl) as table:
        found = next(url_rows(source_of(table), wanted), None)
    return None if found is None else sorted(found["inlinks"] or (), key=lambda each: (each["url"], each["anchor"]))


def select(crawl: CrawlDir, regex: str = "") -> tuple[Any, Iterator[Any]]:
    """Return the schema of the linkdb and its rows as record batches: those whose URL matches a pattern."""
    pattern = url_pattern(regex) if regex else None
    table = open_linkdb(crawl)

    def batches() -> Iterator[Any]:
        with table:
            for batch in table.scan():
                yield sort_inlinks(_matching(batch, pattern))

    return schemas.LINKDB, batches()


def sort_inlinks(batch: Any) -> Any:
    """Return rows of a linkdb with their links sorted by source and anchor; engines collect them unordered."""
    lists = batch.column("inlinks")
    links = lists.flatten()
    fields = {name: pc.struct_field(links, name) for name in ("url", "anchor")}
    order = pa.table({"row": pc.list_parent_indices(lists), **fields})
    by = [(name, "ascending") for name in order.column_names]
    ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(lists), 0))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    ordered = pa.ListArray.from_arrays(offsets, links.take(pc.sort_indices(order, sort_keys=by)))
    return batch.set_column(batch.schema.get_field_index("inlinks"), "inlinks", ordered)


def _matching(batch: Any, pattern: Pattern | None) -> Any:
    if pattern is None:
        return batch
    return batch.filter(pa.array([bool(pattern.found(url)) for url in batch.column("url").to_pylist()], pa.bool_()))
