"""Aggregate the links to a URL: the sum of their scores, the best link, and their metadata.

A link is a row of ``crawl_parse`` or the target of a redirect. The best link has the highest score; ties go to
redirects, then to the source that sorts first. A score that is not finite counts as 0.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.export import iter_rows, only_row
from scoter.batch.crawldir.schemas import METADATA, texts
from scoter.core.representative import REPRESENTATIVE
from scoter.engine import Engine, TableSource
from scoter.engine.port import Rows
from scoter.engine.portable import first_rows, map_concat, map_without
from scoter.plugins import Column
from scoter.plugins.recorded import ibis
from scoter.store.tables.schema import with_columns

REDIRECTS = pa.schema(
    [*texts("source", "url", "key", "host"), ("score", pa.float64()), ("metadata", METADATA), ("segment", pa.int32())]
)
_LARGEST = sys.float_info.max
_BUCKETS = 2**20
_MAX_HOSTS = 1_000


@ibis.udf.scalar.builtin(name="hash", signature=(("string",), "int64"))  # type: ignore[untyped-decorator]
def _hash(text: Any) -> Any:
    """Return a hash of a text; it differs between engines. Ibis's own takes twice as long."""


def columns_of_links(extra: Sequence[Column], *, metadata: bool = False) -> tuple[str, ...]:
    """Return the columns of ``crawl_parse`` that an update reads; the source is needed only to break ties."""
    ties = ("source",) if extra or metadata else ()
    carried = ("metadata",) if metadata else ()
    return (*ties, "url", "key", "host", "score", *carried, *schemas.column_names(extra))


def redirects_of(fetches: Rows, extra: Sequence[Column], segment: int) -> Rows:
    """Return the redirect targets of a segment as links with score 0 and their sources' metadata."""
    moved = fetches.filter(fetches.redirect_to.notnull())
    return moved.select(
        source=moved.url,
        url=moved.redirect_to,
        key=moved.redirect_key,
        host=moved.redirect_host,
        score=ibis.literal(0.0),
        metadata=_represented(moved),
        segment=ibis.literal(segment, type="int32"),
        **{name: moved[name] for name in schemas.column_names(extra)},
    )


def _represented(moved: Rows) -> Any:
    """Return the metadata of the sources, with the representative URLs of the targets instead of their own."""
    shown = moved.redirect_represented_by
    own = map_without(moved.metadata, REPRESENTATIVE)
    return shown.isnull().ifelse(own, map_concat(own, ibis.map([REPRESENTATIVE], ibis.array([shown]))))


def schema_of_redirects(extra: Sequence[Column]) -> Any:
    """Return the schema of redirects."""
    return with_columns(REDIRECTS, extra)


def may_exceed(engine: Engine, sources: Iterable[TableSource], limit: int) -> bool:
    """Return whether a URL might have more links than the limit; false is certain.

    Only URLs of hosts with more links than that can have so many, and hosts are cheap to read. Their links are counted
    by a hash of their URL in a table of fixed size, which needs little memory.
    """
    tables = [engine.read(each).select("url", "host") for each in sources if each.files]
    if not tables:
        return False
    urls = ibis.union(*tables)
    hosts = urls.group_by("host").agg(links=lambda rows: rows.count())
    large = [row["host"] for row in iter_rows(engine.batches(hosts.filter(hosts.links > limit).select("host")))]
    if not large:
        return False
    if len(large) <= _MAX_HOSTS and None not in large:
        urls = urls.filter(urls.host.isin(large))
    counted = urls.group_by(bucket=_hash(urls.url) % _BUCKETS).agg(links=lambda rows: rows.count())
    largest = only_row(engine.batches(counted.aggregate(links=counted.links.max())))["links"]
    return (largest or 0) > limit


def all_links(links: Rows, redirects: Rows | None, limit: int | None) -> Rows:
    """Return links and redirects together, at most ``limit`` per URL if given."""
    names = [*links.columns, "is_redirect"]
    known = links.mutate(score=_finite(links.score), is_redirect=ibis.literal(False))
    if redirects is not None:
        moved = redirects.mutate(is_redirect=ibis.literal(True))
        known = ibis.union(known.select(names), moved.select(names))
    if limit is None:
        return known
    order = [ibis.desc("score"), ibis.desc("is_redirect"), *(["source"] if "source" in names else [])]
    return first_rows(known, ["url"], order, limit)


def aggregate_links(links: Rows, extra: Sequence[Column], *, collect: bool = False) -> Rows:
    """Return one row per link target.

    ``link_NAME`` is merged as the column declares, ``best_NAME`` is the value of the best link; with ``collect``,
    ``links`` holds the individual links.
    """
    measures = {
        # They are equal for all links to a URL; comparing them took a third of the time.
        "l_key": links.key.arbitrary(),
        "l_host": links.host.arbitrary(),
        "link_score": links.score.sum(),
        "best_score": links.score.max(),
    }
    for column in extra:
        if column.merge in ("min", "max", "sum"):
            measures[f"link_{column.name}"] = getattr(links[column.name], column.merge)()
    if extra:
        place = {"score": -links.score, "is_link": ~links.is_redirect, "source": links.source}
        measures["best"] = ibis.struct({**place, **{name: links[name] for name in schemas.column_names(extra)}}).min()
    if collect:
        each = ("score", "is_redirect", "source", "metadata", *schemas.column_names(extra))
        measures["links"] = ibis.struct({name: links[name] for name in each}).collect()
    found = links.group_by(l_url=links.url).agg(**measures)
    best = {f"best_{name}": found.best[name] for name in schemas.column_names(extra)}
    first = {f"link_{each.name}": found.best[each.name] for each in extra if each.merge == "first"}
    return found.mutate(**best, **first).drop("best") if extra else found


def redirect_metadata(redirects: Rows) -> Rows:
    """Return the metadata that each target gets from its first redirect."""
    first = first_rows(redirects, ["url"], [redirects.source, redirects.segment.desc()])
    return first.select(r_url=first.url, r_metadata=first.metadata)


def best_metadata(links: Rows) -> Rows:
    """Return the metadata that each target gets from its best link, if that has any."""
    best = first_rows(links, ["url"], [links.score.desc(), links.is_redirect.desc(), links.source])
    best = best.filter(best.metadata.notnull())
    return best.select(r_url=best.url, r_metadata=best.metadata)


def _finite(score: Any) -> Any:
    return (score.abs() <= _LARGEST).ifelse(score, 0.0)
