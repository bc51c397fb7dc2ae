"""The result of ``core.update`` for the rows of a crawl, URL by URL, as a reference for updatedb."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pytest
from msgspec import Struct

from scoter.batch.crawldir.schemas import (
    DATUM,
    DB_STATUSES,
    FETCH_STATUSES,
    column_names,
    datum_of,
    drop_nulls,
    plugin_columns,
    row_of,
    url_of,
)
from scoter.config import Config
from scoter.core.datum import CrawlDatum, PartStatus
from scoter.core.scoring import ScoringChain
from scoter.core.update import UpdateRules, newest, update
from scoter.core.url import Url
from scoter.plugins import chain

Row = Mapping[str, Any]


class Told(Struct, frozen=True, kw_only=True):
    """The rows of a crawl of one segment."""

    crawldb: Sequence[Row] = ()
    fetches: Sequence[Row] = ()
    pages: Sequence[Row] = ()
    links: Sequence[Row] = ()


def truth(told: Told, config: Config, now: datetime, **changes: Any) -> dict[str, dict[str, Any]]:
    """Return the crawldb that ``core.update`` gives."""
    scoring = chain("scoring", config)
    extra = column_names(plugin_columns(scoring))
    rules = UpdateRules(
        schedule=chain("schedule", config)[0][1],
        scoring=ScoringChain(scoring),
        max_inlinks=config.db.update_max_inlinks,
        max_retries=config.db.fetch_retry_max,
        max_interval=config.db.fetch_interval_max,
        **changes,
    )
    urls: dict[str, Url] = {}
    old = {each["url"]: _datum(each, DB_STATUSES, extra) for each in _noted(told.crawldb, urls)}
    pages = {each["url"]: each for each in told.pages}
    fetches: dict[str, list[CrawlDatum]] = defaultdict(list)
    for each in _noted(told.fetches, urls):
        said = pages.get(each["url"], {}).get("parse_status", "") if each["status"] == "success" else ""
        failed = "parse_failed" if config.parse.delete_failed_parse else "success"
        status = {"failed": failed, "redirect": "redir_temp"}.get(said, each["status"])
        fetches[each["url"]].append(_datum({**each, "status": status}, FETCH_STATUSES, extra))
    carried = any(getattr(plugin, "carries_metadata", False) for _, plugin in scoring)
    links = _links(told, urls, extra, carried)
    found = {}
    for text, url in urls.items():
        page = pages.get(text, {})
        metadata = page.get("metadata") or {}
        parsed = {key: metadata[key] for key in config.db.parsemeta_to_crawldb if key in metadata}
        fetch = newest(fetches[text])
        record = update(url, old.get(text), fetch, links[text], page.get("signature"), now, rules, parsed)
        if record is not None:
            found[text] = row_of(url, record, extra)
    return found


def assert_same(found: Mapping[str, Row], expected: Mapping[str, Row]) -> None:
    """Compare two crawldbs: scores with a tolerance, all else exactly; missing and empty metadata are equal."""
    assert found.keys() == expected.keys()
    for url, row in expected.items():
        got = {**found[url], "metadata": dict(found[url]["metadata"] or ())}
        want = {**row, "metadata": dict(row["metadata"] or ())}
        assert got.pop("score") == pytest.approx(want.pop("score"), rel=1e-9, abs=1e-9, nan_ok=True), url
        # Told by hand: pytest explains asserts in test modules only.
        assert got == want, {url: [(name, got[name], want[name]) for name in want if got[name] != want[name]]}


def _links(told: Told, urls: dict[str, Url], extra: Sequence[str], carried: bool) -> dict[str, list[CrawlDatum]]:
    """Return the links of each URL, best first; ties go to redirects, then to the source that sorts first."""
    found: dict[str, list[CrawlDatum]] = defaultdict(list)
    for each in sorted(told.fetches, key=lambda row: str(row["url"])):
        if each.get("redirect_to") is not None:
            url = Url(each["redirect_to"], each["redirect_key"], each["redirect_host"])
            urls.setdefault(url.text, url)
            values = drop_nulls({name: each.get(name) for name in extra})
            metadata = each.get("metadata") or {}
            found[url.text].append(CrawlDatum(status=PartStatus.LINKED, metadata=metadata, extra=values))
    for each in sorted(_noted(told.links, urls), key=lambda row: str(row["source"])):
        values = drop_nulls({name: each.get(name) for name in extra})
        metadata = (each.get("metadata") or {}) if carried else {}
        found[each["url"]].append(
            CrawlDatum(status=PartStatus.LINKED, score=_finite(each["score"]), metadata=metadata, extra=values)
        )
    return found


def _finite(score: float | None) -> float:
    return score if score is not None and math.isfinite(score) else 0.0


def _datum(row: Row, statuses: Mapping[str, Any], extra: Sequence[str]) -> CrawlDatum:
    return datum_of({**dict.fromkeys((*DATUM.names, *extra)), **row}, statuses, extra)


def _noted(rows: Iterable[Row], urls: dict[str, Url]) -> list[Row]:
    """Return rows as a list, and add their URLs to ``urls``."""
    found = list(rows)
    for each in found:
        urls.setdefault(each["url"], url_of(each))
    return found
