"""The inputs of an update, and their join to one row per URL.

The columns of the old record start with ``old_``, those of the fetch with ``f_``, of its page with ``p_``, of the
aggregated links with ``link_``, of the best link with ``best_``. ``old_url``, ``f_url`` and ``link_score`` are null
if there is no such record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.changes import KeySpans
from scoter.batch.crawldir.segment import Segment, SegmentSources
from scoter.batch.update import links
from scoter.batch.update.links import columns_of_links, redirects_of, schema_of_redirects
from scoter.batch.urls.chains import DERIVED, UrlChains, rewrite_urls, url_changes
from scoter.core.datum import EPOCH
from scoter.engine import Engine, TableSource, file_source, source_of
from scoter.engine.port import Rows, save_source
from scoter.engine.portable import NULL_MAP, first_rows, map_only, timestamp
from scoter.engine.sources import STORED_FILE, STORED_ROW, may_have
from scoter.plugins import Column
from scoter.plugins.recorded import ibis

_PAGE_COLUMNS = ("url", "key", "parse_status", "signature")


def update_sources(
    crawldb: TableSource,
    segments: Sequence[Segment],
    extra: Sequence[Column],
    *,
    parse_metadata: bool,
    link_metadata: bool,
) -> dict[str, TableSource]:
    """Return the inputs by name; redirects are still among the fetches."""
    found = {CRAWLDB: crawldb}
    for number, segment in enumerate(segments):
        parts = SegmentSources([segment], extra)
        found[f"{FETCH}{number}"] = parts.fetch
        columns = (*_PAGE_COLUMNS, "metadata") if parse_metadata else _PAGE_COLUMNS
        found[f"{PARSE}{number}"] = source_of(parts.parse_data, columns)
    found[LINKS] = source_of(SegmentSources(segments, extra).links, columns_of_links(extra, metadata=link_metadata))
    return found


def with_redirects(
    engine: Engine, found: Mapping[str, TableSource], segments: int, extra: Sequence[Column], folder: Path
) -> dict[str, TableSource]:
    """Return the inputs with redirect targets as a separate input, because each has its own key."""
    names = [f"{FETCH}{number}" for number in range(segments)]
    moved = [
        redirects_of(engine.read(found[name]), extra, number)
        for number, name in enumerate(names)
        if may_have(found[name], "redirect_to")
    ]
    kept = dict(found)
    datum = [*schemas.DATUM.names, *schemas.column_names(extra)]
    for name in names:
        kept[name] = source_of(found[name], datum)
    if moved:
        schema, file = schema_of_redirects(extra), folder / "redirects.parquet"
        if engine.save(ibis.union(*moved), schema, file):
            kept[REDIRECTS] = file_source(file, schema)
    return kept


def apply_chains(
    engine: Engine, found: Mapping[str, TableSource], chains: UrlChains, folder: Path
) -> dict[str, TableSource]:
    """Return the inputs with the chains applied to every URL."""
    urls = [engine.read(each).select("url") for each in found.values()]
    changes = url_changes(engine, ibis.union(*urls), chains)
    return {name: _rewritten(engine, each, changes, folder / f"{name}.parquet") for name, each in found.items()}


def _rewritten(engine: Engine, source: TableSource, changes: Rows, file: Path) -> TableSource:
    derived = {name: its for name, its in DERIVED.items() if name in source.schema.names}
    return save_source(engine, rewrite_urls(engine.read(source), changes, derived=derived), source.schema, file)


CRAWLDB = "crawldb"
LINKS = "links"
REDIRECTS = "redirects"
FETCH = "fetch"
PARSE = "parse"
NOW = "now"


class UpdateShape(Struct, frozen=True, kw_only=True):
    """The shape of the inputs of an update: what determines the query."""

    segments: int
    extra: tuple[Column, ...] = ()
    is_merged: bool = False
    """A URL may be in the crawldb several times, because normalisers changed URLs."""
    link_limit: int | None = None
    """Maximum number of links per URL, if a URL may have more."""
    purged: tuple[str, ...] = ()
    parse_keys: tuple[str, ...] = ()
    collect: bool = False
    """Whether a plug-in needs the individual links."""
    carried: bool = False
    """Whether links pass metadata on."""
    is_partial: bool = False
    """Whether only the URLs that the segments mention are wanted, with the positions of their old records."""
    spans: KeySpans = KeySpans()
    """Where these old records are."""


def join_inputs(inputs: Mapping[str, Rows], shape: UpdateShape) -> Rows:
    """Return one row per URL that is known, fetched or linked to; or only those that are fetched or linked to."""
    old = _old(inputs[CRAWLDB], shape)
    if shape.is_partial:
        return _join_touched(old, inputs, shape)
    found = _found(inputs, shape)
    rows = old.outer_join(found, old.old_url == found.url)
    return rows.select(
        url=rows.old_url.coalesce(rows.url),
        key=rows.old_key.coalesce(rows.key),
        host=rows.old_host.coalesce(rows.host),
        **{name: rows[name] for name in rows.columns if name not in ("url", "key", "host", "old_key", "old_host")},
    )


def _join_touched(old: Rows, inputs: Mapping[str, Rows], shape: UpdateShape) -> Rows:
    """Return one row per URL that is fetched or linked to.

    The many links meet the crawldb without the many columns of the few fetches, which are added afterwards. Keys and
    hosts follow from the URLs: reading those of old records would take a third of the time.
    """
    fetches = _fetches(inputs, shape)
    fetched = fetches.group_by(f_url=fetches.f_url).agg(
        f_key=fetches.f_key.arbitrary(), f_host=fetches.f_host.arbitrary()
    )
    found = _coalesced(fetched, _linked(inputs, shape)).drop("f_url")
    known = old.right_join(found, old.old_url == found.url)
    known = known.select(*(name for name in known.columns if name not in ("old_key", "old_host")))
    newest = _fetched(inputs, shape).drop("f_key", "f_host")
    rows = newest.right_join(known, newest.f_url == known.url)
    return rows.select(*rows.columns)


def _found(inputs: Mapping[str, Rows], shape: UpdateShape) -> Rows:
    """Return what the segments say about each URL."""
    return _coalesced(_fetched(inputs, shape), _linked(inputs, shape))


def _coalesced(fetched: Rows, linked: Rows) -> Rows:
    rows = fetched.outer_join(linked, fetched.f_url == linked.l_url)
    hidden = {"f_key", "f_host", "l_url", "l_key", "l_host"}
    return rows.select(
        url=rows.f_url.coalesce(rows.l_url),
        key=rows.f_key.coalesce(rows.l_key),
        host=rows.f_host.coalesce(rows.l_host),
        **{name: rows[name] for name in rows.columns if name not in hidden},
    )


def _old(rows: Rows, shape: UpdateShape) -> Rows:
    if shape.purged:
        rows = rows.filter(~rows.status.isin(shape.purged))
    if shape.is_merged:
        rows = first_rows(rows, ["url"], [ibis.desc("fetch_time"), ibis.desc("score"), "status"])
    if shape.is_partial:
        rows = shape.spans.of(rows)
        return _datum(rows, "old_", shape.extra, **{name: rows[name] for name in (STORED_FILE, STORED_ROW)})
    return _datum(rows, "old_", shape.extra)


def _fetched(inputs: Mapping[str, Rows], shape: UpdateShape) -> Rows:
    """Return the newest fetch of each URL, with the page of the same segment."""
    fetched = _fetches(inputs, shape)
    names = ["url", "parse_status", "signature", *(["metadata"] if shape.parse_keys else [])]
    pages = ibis.union(*(_of_segment(inputs[f"{PARSE}{n}"], names, n) for n in range(shape.segments)))
    parsed = pages.select(
        p_url=pages.url,
        p_segment=pages.segment,
        p_status=pages.parse_status,
        p_signature=pages.signature,
        p_metadata=map_only(pages.metadata, shape.parse_keys) if shape.parse_keys else NULL_MAP,
    )
    rows = fetched.left_join(parsed, (fetched.f_url == parsed.p_url) & (fetched.segment == parsed.p_segment))
    newest = [ibis.desc("f_fetch_time"), ibis.desc("segment"), "f_status", ibis.desc("f_score")]
    # A page that was parsed twice must not duplicate its record.
    return first_rows(rows, ["f_url"], [*newest, ibis.desc("p_status"), "p_signature"]).drop(
        "segment", "p_url", "p_segment"
    )


def _fetches(inputs: Mapping[str, Rows], shape: UpdateShape) -> Rows:
    """Return all fetches, with the numbers of their segments."""
    names = [*schemas.DATUM.names, *schemas.column_names(shape.extra)]
    fetches = ibis.union(*(_of_segment(inputs[f"{FETCH}{n}"], names, n) for n in range(shape.segments)))
    fetches = fetches.filter(fetches.status != schemas.DEFERRED)
    return _datum(fetches, "f_", shape.extra, segment=fetches.segment)


def _linked(inputs: Mapping[str, Rows], shape: UpdateShape) -> Rows:
    redirects = inputs.get(REDIRECTS)
    counting = links.all_links(inputs[LINKS], redirects, shape.link_limit)
    linked = links.aggregate_links(counting, shape.extra, collect=shape.collect)
    if shape.carried:
        carried = links.best_metadata(counting)
        return linked.left_join(carried, linked.l_url == carried.r_url).drop("r_url").rename(best_metadata="r_metadata")
    if redirects is None:
        linked = linked.mutate(r_metadata=NULL_MAP)
    else:
        carried = links.redirect_metadata(redirects)
        linked = linked.left_join(carried, linked.l_url == carried.r_url).drop("r_url")
    return linked.mutate(best_metadata=(linked.best_score <= 0).ifelse(linked.r_metadata, NULL_MAP)).drop("r_metadata")


def _datum(rows: Rows, prefix: str, extra: Sequence[Column], **more: Any) -> Rows:
    """Return the columns of a record with a prefix; nulls get the defaults of a new record."""
    filled = {
        "fetch_time": rows.fetch_time.coalesce(timestamp(EPOCH)),
        "retries": rows.retries.coalesce(0),
        "interval": rows.interval.coalesce(0),
        "score": rows.score.coalesce(0.0),
    }
    names = [*schemas.DATUM.names, *schemas.column_names(extra)]
    return rows.select(**{prefix + name: filled.get(name, rows[name]) for name in names}, **more)


def _of_segment(rows: Rows, names: Sequence[str], number: int) -> Rows:
    return rows.select(*names, segment=ibis.literal(number, type="int32"))
