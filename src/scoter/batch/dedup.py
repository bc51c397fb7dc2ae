"""Mark pages of the same content as duplicates of the best of them."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import ibis
import pyarrow as pa
from msgspec import Struct

from scoter.batch import schemas
from scoter.batch.backup import without_backup
from scoter.batch.directory import CrawlDir
from scoter.batch.nearness import near_losers
from scoter.batch.readdb import open_crawldb
from scoter.config import Config
from scoter.core.datum import DbStatus, short_name
from scoter.core.domain import registered_domain
from scoter.engine import Engine, Source, source_of
from scoter.engine.port import Rows
from scoter.errors import UsageError, nearest
from scoter.plugins import chain
from scoter.store.tables import Table

Group: TypeAlias = Literal["none", "host", "domain"]
COMPARE_ORDER = "score,fetchTime,urlLength"

_LOSERS = pa.schema([("url", pa.utf8()), ("key", pa.utf8())])
_DOMAINS = pa.schema([("host", pa.utf8()), ("domain", pa.utf8())])
_COMPARED = (short_name(DbStatus.FETCHED), short_name(DbStatus.NOTMODIFIED))
_DUPLICATE = short_name(DbStatus.DUPLICATE)

# The better page comes first. https wins over http whatever follows, where Nutch asks for two URLs that differ in
# nothing else: with that, which page is best would depend on which are compared first.
_ORDERS: Mapping[str, Callable[[Rows], Any]] = {
    "score": lambda rows: rows.score.desc(),
    "fetchTime": lambda rows: rows.fetch_time.desc(),
    "httpsOverHttp": lambda rows: rows.url.startswith("https://").desc(),
    "urlLength": lambda rows: _decoded_length(rows.url).asc(),
}


class Deduplicated(Struct, frozen=True, kw_only=True):
    """How many pages became duplicates: of the same signature, and of nearly the same text."""

    exact: int
    near: int


def dedup(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    group: Group = "none",
    compare_order: str = COMPARE_ORDER,
    near: bool = False,
    distance: int = 3,
) -> Deduplicated:
    """Give all fetched pages of one signature but the best the status duplicate.

    ``group``: only pages of one host or registered domain are compared. ``compare_order``: what makes a page the
    better one, the most telling first, of score, fetchTime, httpsOverHttp, urlLength; at last the URL that sorts first.
    ``near``: also pages whose simhashes differ in at most ``distance`` bits.
    """
    order = orders(compare_order)
    extra = schemas.plugin_columns(chain("scoring", config))
    crawl.scratch.mkdir(parents=True, exist_ok=True)
    with (
        open_crawldb(crawl, config) as crawldb,
        tempfile.TemporaryDirectory(dir=crawl.scratch) as folder,
    ):
        columns = ("url", "key", "host", "status", "fetch_time", "score", "signature")
        known = engine.read(source_of(crawldb, columns))
        pages = _grouped(engine, known.filter(known.status.isin(_COMPARED)), group)
        exact, number = _saved(engine, _exact_losers(pages, order), Path(folder) / "exact.parquet")
        losers, near_number = [exact], 0
        if near:
            rest = pages.anti_join(engine.read(exact), "url")
            found = near_losers(engine, crawl, rest, order, distance, Path(folder))
            saved, near_number = _saved(engine, found, Path(folder) / "near.parquet")
            losers.append(saved)
        if number + near_number:
            files = tuple(file for each in losers for file in each.files)
            inputs = {
                "crawldb": source_of(crawldb, is_sorted=True),
                "losers": Source(files=files, schema=_LOSERS, defaults={}),
            }
            with Table.write(crawl.crawldb, schemas.CRAWLDB, extra=extra, writer="dedup", clock=lambda: now) as new:
                engine.write(_marked, inputs, new)
                new.commit()
    without_backup(crawl.crawldb, config)
    return Deduplicated(exact=number, near=near_number)


def orders(text: str) -> Callable[[Rows], list[Any]]:
    """Return what sorts the better page first, by a comma-separated list of what to compare."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in _ORDERS:
            close = nearest(name, _ORDERS)
            raise UsageError(
                f"{name!r} cannot be compared" + (f"; did you mean {close!r}?" if close else ""),
                where="compare order",
                hint=f"Name some of {', '.join(_ORDERS)}, the most telling first.",
            )
    if not names or len(set(names)) < len(names):
        raise UsageError(
            "it names nothing to compare" if not names else "it names something twice",
            where="compare order",
            hint=f"The usual one is {COMPARE_ORDER}.",
        )
    return lambda rows: [*(_ORDERS[name](rows) for name in names), rows.url.asc()]


def _grouped(engine: Engine, pages: Rows, group: Group) -> Rows:
    """Return pages with a column ``among``: only those of equal values are compared."""
    if group == "none":
        return pages.mutate(among=ibis.literal(""))
    if group == "host":
        return pages.mutate(among=pages.host)
    domains = engine.map_batches(pages.select("host").distinct(), _domains, _DOMAINS)
    joined = pages.join(domains, "host")
    return joined.select(*pages.columns, among=joined.domain)


def _domains(batch: Any) -> Any:
    hosts = batch.column("host")
    return pa.RecordBatch.from_arrays(
        [hosts, pa.array(map(registered_domain, hosts.to_pylist()), pa.utf8())], schema=_DOMAINS
    )


def _exact_losers(pages: Rows, order: Callable[[Rows], list[Any]]) -> Rows:
    pages = pages.filter(pages.signature.notnull())
    sizes = pages.group_by(["signature", "among"]).agg(size=pages.count())
    # Most pages are alone, and a window over the few others sorts little.
    shared = pages.semi_join(sizes.filter(sizes.size > 1), ["signature", "among"])
    ranked = shared.mutate(
        place=ibis.row_number().over(group_by=[shared.signature, shared.among], order_by=order(shared))
    )
    return ranked.filter(ranked.place > 0).select("url", "key")


def _marked(tables: Mapping[str, Rows]) -> Rows:
    crawldb, losers = tables["crawldb"], tables["losers"].select(loser="url")
    joined = crawldb.left_join(losers, crawldb.url == losers.loser)
    status = joined.loser.notnull().ifelse(_DUPLICATE, joined.status)
    return joined.mutate(status=status).select(*crawldb.columns)


def _saved(engine: Engine, losers: Rows, file: Path) -> tuple[Source, int]:
    number = engine.save(losers, _LOSERS, file)
    return Source(files=(str(file),), schema=_LOSERS, defaults={}), number


def _decoded_length(url: Any) -> Any:
    """Return the number of characters of a URL once its escapes are decoded; in UTF-8 only some bytes begin one."""
    beginnings = url.re_replace("%[89AB][0-9A-F]", "")
    return beginnings.re_replace("%[0-9A-F][0-9A-F]", "_").length()
