"""Old record, fetch and links of every URL, side by side in one row.

The columns of the old record start with ``old_``, those of the fetch with ``f_``, of its page with ``p_``, of the
links, merged, with ``link_``, of the best link with ``best_``. ``old_url``, ``f_url`` and ``l_url`` tell which of the
three there is.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ibis
from msgspec import Struct

from scoter.batch import schemas
from scoter.batch.update import links, maps
from scoter.core.datum import EPOCH
from scoter.engine.port import Rows
from scoter.engine.portable import first_rows, moment
from scoter.plugins import Column

CRAWLDB = "crawldb"
LINKS = "links"
REDIRECTS = "redirects"
FETCH = "fetch"
PARSE = "parse"
NOW = "now"


class Shape(Struct, frozen=True, kw_only=True):
    """What the inputs of an update are like, and what is wanted of them."""

    segments: int
    extra: tuple[Column, ...] = ()
    is_merged: bool = False
    """A URL may stand in the crawldb several times: normalisers made one out of many."""
    link_limit: int | None = None
    """Links that count, where a URL may have more."""
    purged: tuple[str, ...] = ()
    parse_keys: tuple[str, ...] = ()
    collect: bool = False
    """Whether a plug-in wants to see the links one by one."""


def joined(inputs: Mapping[str, Rows], shape: Shape) -> Rows:
    """Return a row for each URL that is known, was fetched or is linked to."""
    old = _old(inputs[CRAWLDB], shape)
    found = _found(inputs, shape)
    rows = old.outer_join(found, old.old_url == found.url)
    return rows.select(
        url=rows.old_url.coalesce(rows.url),
        key=rows.old_key.coalesce(rows.key),
        host=rows.old_host.coalesce(rows.host),
        **{name: rows[name] for name in rows.columns if name not in ("url", "key", "host", "old_key", "old_host")},
    )


def _found(inputs: Mapping[str, Rows], shape: Shape) -> Rows:
    """Return what the segments tell of each URL."""
    fetched = _fetched(inputs, shape)
    linked = _linked(inputs, shape)
    rows = fetched.outer_join(linked, fetched.f_url == linked.l_url)
    hidden = {"f_key", "f_host", "l_key", "l_host"}
    return rows.select(
        url=rows.f_url.coalesce(rows.l_url),
        key=rows.f_key.coalesce(rows.l_key),
        host=rows.f_host.coalesce(rows.l_host),
        **{name: rows[name] for name in rows.columns if name not in hidden},
    )


def _old(rows: Rows, shape: Shape) -> Rows:
    if shape.purged:
        rows = rows.filter(~rows.status.isin(shape.purged))
    if shape.is_merged:
        rows = first_rows(rows, ["url"], [ibis.desc("fetch_time"), ibis.desc("score"), "status"])
    return _datum(rows, "old_", shape.extra)


def _fetched(inputs: Mapping[str, Rows], shape: Shape) -> Rows:
    """Return the newest fetch of each URL, with what its own segment's page says."""
    names = [*schemas.DATUM.names, *schemas.names(shape.extra)]
    fetches = _union([_of_segment(inputs[f"{FETCH}{number}"], names, number) for number in range(shape.segments)])
    fetched = _datum(fetches, "f_", shape.extra, segment=fetches.segment)
    names = ["url", "parse_status", "signature", *(["metadata"] if shape.parse_keys else [])]
    pages = _union([_of_segment(inputs[f"{PARSE}{number}"], names, number) for number in range(shape.segments)])
    said = pages.select(
        p_url=pages.url,
        p_segment=pages.segment,
        p_status=pages.parse_status,
        p_signature=pages.signature,
        p_metadata=maps.only(pages.metadata, shape.parse_keys) if shape.parse_keys else maps.NONE,
    )
    rows = fetched.left_join(said, (fetched.f_url == said.p_url) & (fetched.segment == said.p_segment))
    newest = [ibis.desc("f_fetch_time"), ibis.desc("segment"), "f_status", ibis.desc("f_score")]
    # A page that was parsed twice must not double its record.
    return first_rows(rows, ["f_url"], [*newest, ibis.desc("p_status"), "p_signature"]).drop(
        "segment", "p_url", "p_segment"
    )


def _linked(inputs: Mapping[str, Rows], shape: Shape) -> Rows:
    redirects = inputs.get(REDIRECTS)
    counting = links.united(inputs[LINKS], redirects, shape.link_limit, collect=shape.collect)
    linked = links.gathered(counting, shape.extra, collect=shape.collect)
    if redirects is None:
        linked = linked.mutate(r_metadata=maps.NONE)
    else:
        carried = links.carried(redirects)
        linked = linked.left_join(carried, linked.l_url == carried.r_url).drop("r_url")
    return linked.mutate(best_metadata=(linked.best_score <= 0).ifelse(linked.r_metadata, maps.NONE)).drop("r_metadata")


def _datum(rows: Rows, prefix: str, extra: Sequence[Column], **more: Any) -> Rows:
    """Return a datum's columns under a prefix; where a file left something out, it is as a new datum has it."""
    filled = {
        "fetch_time": rows.fetch_time.coalesce(moment(EPOCH)),
        "retries": rows.retries.coalesce(0),
        "interval": rows.interval.coalesce(0),
        "score": rows.score.coalesce(0.0),
    }
    names = [*schemas.DATUM.names, *schemas.names(extra)]
    return rows.select(**{prefix + name: filled.get(name, rows[name]) for name in names}, **more)


def _of_segment(rows: Rows, names: Sequence[str], number: int) -> Rows:
    return rows.select(*names, segment=ibis.literal(number, type="int32"))


def _union(tables: Sequence[Rows]) -> Rows:
    return tables[0] if len(tables) == 1 else ibis.union(*tables)
