"""Import Nutch's crawldb, linkdb and hostdb.

Rows go to temporary files as they are read. The engine then removes duplicates, which arise where several URLs of Nutch
have the same canonical form, and writes the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.linkdb import merge_links, popular_urls, weighted
from scoter.batch.worker.segment_part import RowBuffer
from scoter.core.datum import DbStatus, PartStatus
from scoter.core.domain import reversed_host
from scoter.core.url import Url, canonical, host_of
from scoter.engine import Engine, TableSource, file_source
from scoter.engine.port import Rows
from scoter.engine.portable import first_rows
from scoter.errors import UrlError
from scoter.nutch.crawl.reader import STATUSES, CrawlReader, datum_columns, micros
from scoter.nutch.crawl.records import NutchHost, NutchLink, read_datum, read_host, read_inlinks
from scoter.store.tables import PartSet, Table

COMMAND = "import-nutch-crawl"
_KEY = "nutch_url"
_CRAWLDB = pa.schema([*schemas.CRAWLDB, (_KEY, pa.utf8())])
_LINKS = pa.schema(schemas.texts("url", "key", "source", "anchor"))


@contextmanager
def row_file(parts: PartSet, name: str) -> Iterator[RowBuffer]:
    """Open the file ``NAME.parquet`` of a set for rows; it is removed if writing fails."""
    rows = RowBuffer(parts, name)
    try:
        yield rows
        rows.seal()
        rows.publish()
    except BaseException:
        rows.discard()
        raise


def saved_rows(folder: Path, name: str, schema: Any) -> TableSource:
    """Return a file that ``row_file`` wrote into a folder."""
    return file_source(folder / f"{name}.parquet", schema)


def read_crawldb(reader: CrawlReader, files: Sequence[Path], folder: Path) -> TableSource:
    """Read the crawldb into a temporary file."""
    part = "crawldb"
    count = reader.of(part)
    with row_file(PartSet(folder, _CRAWLDB), part) as rows:
        for url, key, datum in reader.records(part, files, read_datum):
            status = STATUSES.get(datum.status)
            if status is PartStatus.INJECTED:
                status = DbStatus.UNFETCHED
            if not isinstance(status, DbStatus):
                count.left_out[f"status {datum.status:#04x}"] += 1
                continue
            reader.check_metadata(part, datum)
            rows.add((*datum_columns(url, status, datum), key))
            count.imported += 1
    return saved_rows(folder, part, _CRAWLDB)


def write_crawldb(
    reader: CrawlReader, rows: TableSource, crawl: CrawlDir, engine: Engine, applied: Collection[str], now: datetime
) -> None:
    """Write the crawldb; of records with the same canonical URL, the one fetched last is kept."""
    with Table.write(crawl.crawldb, schemas.CRAWLDB, writer=COMMAND, clock=lambda: now) as version:
        engine.write(_newest, {"rows": rows}, version)
        reader.merged("crawldb", version.commit(applied=applied).rows)


def _newest(inputs: Mapping[str, Rows]) -> Rows:
    rows = inputs["rows"]
    return first_rows(rows, ["url"], [rows.fetch_time.desc(), rows[_KEY]]).select(schemas.CRAWLDB.names)


def import_linkdb(
    reader: CrawlReader,
    files: Sequence[Path],
    crawl: CrawlDir,
    engine: Engine,
    limit: int,
    applied: Collection[str],
    folder: Path,
    now: datetime,
) -> None:
    """Write the linkdb, with at most ``limit`` inlinks per URL; targets with the same canonical URL are merged."""
    part = "linkdb"
    count = reader.of(part)
    with row_file(PartSet(folder, _LINKS), part) as rows:
        for url, _, inlinks in reader.records(part, files, read_inlinks):
            sources = _sources(inlinks)
            count.imported += bool(sources)
            count.left_out["without a valid source"] += not sources
            for source, anchor in sources:
                rows.add((url.text, url.key, source.text, anchor))
    links = saved_rows(folder, part, _LINKS)
    popular = popular_urls(engine, [links], [], limit, folder / "popular.parquet")

    def job(tables: Mapping[str, Rows]) -> Rows:
        return merge_links({0: tables["links"]}, limit, popular)

    with Table.write(crawl.linkdb, schemas.LINKDB, writer=COMMAND, clock=lambda: now) as version:
        engine.write(job, weighted({"links": links}), version)
        reader.merged(part, version.commit(applied=applied).rows)


def _sources(inlinks: Sequence[NutchLink]) -> list[tuple[Url, str]]:
    found = []
    for each in inlinks:
        with suppress(UrlError):
            found.append((canonical(each.url), each.anchor))
    return found


def import_hostdb(
    reader: CrawlReader, files: Sequence[Path], crawl: CrawlDir, engine: Engine, folder: Path, now: datetime
) -> None:
    """Write the hostdb. ``scoter updatehostdb`` then counts anew what Nutch counted, and keeps the rest."""
    part = "hostdb"
    count = reader.of(part)
    with row_file(PartSet(folder, schemas.HOSTDB), part) as rows:
        for host, datum, _, _ in reader.values(part, files, read_host):
            rows.add(tuple(map(_host_columns(host, datum).get, schemas.HOSTDB.names)))
            count.imported += 1
    with Table.write(crawl.hostdb, schemas.HOSTDB, writer=COMMAND, clock=lambda: now) as version:
        engine.write(_one_per_host, {"rows": saved_rows(folder, part, schemas.HOSTDB)}, version)
        reader.merged(part, version.commit().rows)


def _host_columns(host: str, datum: NutchHost) -> dict[str, Any]:
    """Return what Nutch knows about a host, by the columns of the hostdb."""
    counts = {
        **dict.fromkeys((*schemas.STATUS_COUNTS, *schemas.FETCH_COUNTS), 0),
        **{name: getattr(datum, name) for name in ("unfetched", "fetched", "notmodified", "gone")},
        **{name: getattr(datum, name) for name in ("redir_temp", "redir_perm", "connection_failures")},
    }
    name = host_of(host) or host
    return {
        "url": name,
        "key": reversed_host(name),
        **counts,
        "urls": sum(counts[status] for status in schemas.STATUS_COUNTS),
        "pages": datum.fetched + datum.notmodified,
        "homepage": datum.homepage or None,
        "dns": "failed" if datum.dns_failures else "ok",
        "dns_failures": datum.dns_failures,
        "last_check": micros(datum.last_check),
        "score": datum.score,
        "metadata": list(datum.metadata.items()) or None,
    }


def _one_per_host(inputs: Mapping[str, Rows]) -> Rows:
    rows = inputs["rows"]
    return first_rows(rows, ["url"], [rows.last_check.desc(), rows.urls.desc()]).select(schemas.HOSTDB.names)
