"""Operations on links that ``invertlinks`` and ``mergelinkdb`` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from scoter.engine import Engine, TableSource, file_source
from scoter.engine.port import Rows
from scoter.engine.portable import first_rows
from scoter.plugins.recorded import ibis

_WEIGHT = 5.0
"""Collecting links into lists needs about five times the memory of joining the same rows: 2 million links (58 MB of
Parquet) do not fit into 1 GiB at once, but do in four ranges."""
_URLS = pa.schema([("url", pa.utf8())])


def weighted(inputs: Mapping[str, TableSource]) -> dict[str, TableSource]:
    """Return the inputs of a job over links, weighted by the memory that it needs for them."""
    return {name: replace(source, weight=_WEIGHT) for name, source in inputs.items()}


def unnest_inlinks(linkdb: Rows) -> Rows:
    """Return one row per link of a linkdb: url, key, source, anchor."""
    each = linkdb.unnest("inlinks")
    return each.select("url", "key", source=each.inlinks.url, anchor=each.inlinks.anchor)


def popular_urls(
    engine: Engine, links: Sequence[TableSource], linkdbs: Sequence[TableSource], limit: int, file: Path
) -> Rows | None:
    """Return the URLs that may have more than ``limit`` inlinks, or ``None`` if there are none, as is usual."""
    known = [engine.read(each) for each in linkdbs]
    counts = ibis.union(
        *(engine.read(each).select("url").mutate(links=ibis.literal(1, "int64")) for each in links),
        *(rows.select("url", links=rows.inlinks.length().cast("int64")) for rows in known),
    )
    totals = counts.group_by("url").agg(links=counts.links.sum())
    found = totals.filter(totals.links > limit)
    return engine.read(file_source(file, _URLS)) if engine.save(found, _URLS, file) else None


def merge_links(links: Mapping[int, Rows], limit: int, popular: Rows | None) -> Rows:
    """Return links as rows of a linkdb: each source once per target, and at most ``limit`` for a popular URL.

    Links under a lower number are preferred, then those whose source sorts first. The lists are unordered, since not
    every engine can collect in order; readers sort them.
    """
    found = ibis.union(
        *(
            rows.select("url", "key", "source", anchor=rows.anchor.fill_null("")).mutate(age=ibis.literal(age, "int8"))
            for age, rows in links.items()
        )
    )
    once = found.group_by(["url", "source"]).agg(key=found.key.min(), age=found.age.min(), anchor=found.anchor.max())
    if popular is not None:
        # A window function keeps everything that it sorts in memory, so only the few popular URLs go through one.
        many = once.semi_join(popular, "url")
        first = first_rows(many, ["url"], [many.age, many.source], limit)
        once = ibis.union(first, once.anti_join(popular, "url"))
    # In DuckDB a list of structs needs more than twice the memory of a list of texts: 2 million links did not fit into
    # 730 MB. The separator is safe: a URL holds no line break.
    lists = once.group_by("url").agg(key=once.key.min(), texts=(once.source + "\n" + once.anchor).collect())
    return lists.select("url", "key", inlinks=lists.texts.map(_link))


def _link(text: Any) -> Any:
    end = text.find("\n")
    return ibis.struct({"url": text.substr(0, end), "anchor": text.substr(end + 1)})
