"""Reads pages of rows by key, with a bounded amount of work per request, and encodes rows as JSON or Arrow."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.api.records import HostsQuery, UrlsQuery
from scoter.batch.crawldir.crawldb import open_crawldb
from scoter.batch.crawldir.directory import CrawlDir, applied_segments
from scoter.batch.crawldir.export import csv_row, iter_rows, json_value
from scoter.batch.crawldir.lookup import without_replaced
from scoter.config import Config
from scoter.core.datum import DbStatus, short_name
from scoter.core.url import canonical
from scoter.engine.sources import replaced_rows, source_of
from scoter.errors import UrlError, UsageError, UserError

ARROW: Final = "application/vnd.apache.arrow.stream"
CSV: Final = "text/csv"
PARQUET: Final = "application/vnd.apache.parquet"
_MAX_GROUPS: Final = 8  # row groups whose rows are read for one page
STATUSES: Final = tuple(short_name(each) for each in DbStatus)


class RowTable(Struct, frozen=True):
    """Rows as an Arrow table, and the key after which the next page starts."""

    table: Any
    next: str | None = None


def crawldb_page(crawl: CrawlDir, config: Config, query: UrlsQuery) -> RowTable:
    """Return rows of the crawldb after a key; reads at most a few row groups, so the page may be short."""
    if query.status and query.status not in STATUSES:
        raise UsageError(f"{query.status!r} is not a status", where="?status", hint=f"Accepted: {', '.join(STATUSES)}.")
    low, high = _host_range(query.host) if query.host else ("", "\U0010ffff")
    start = max(low, query.after)
    with open_crawldb(crawl, config) as crawldb:
        source = source_of(crawldb)
        gone = replaced_rows(source)
        groups = _groups_between(source.files, start, high)
        page, read, last = crawldb.schema.empty_table(), 0, start
        while groups:
            # Parts overlap, but no row group that is left has a lower key than the next one.
            _, file, number = groups.pop(0)
            with _opened(file) as parquet:
                table = without_replaced(parquet, number, parquet.read_row_group(number), gone.get(file))
            read += 1
            later = table.filter(pc.greater(table["key"], start))
            chosen = later.filter(_condition(later, query, start, high)).slice(0, query.limit)
            page = _joined([page, chosen], crawldb.schema).sort_by([("key", "ascending"), ("url", "ascending")])
            page = page.slice(0, query.limit)
            limit = groups[0][0] if groups else None
            ready = page if limit is None else page.filter(pc.less(page["key"], limit))
            if ready.num_rows == query.limit:
                return RowTable(ready, ready["key"][-1].as_py())
            if limit is None:
                return RowTable(ready)
            for keys in (later["key"].filter(pc.less(later["key"], limit)), ready["key"]):
                last = max(last, pc.max(keys).as_py() or "")
            if read >= _MAX_GROUPS and last > start:
                return RowTable(ready, last)
        return RowTable(page)


def _groups_between(files: Sequence[str], low: str, high: str) -> list[tuple[str, str, int]]:
    """Return the row groups that may have keys between two, with their lowest keys, in order of these."""
    found = []
    for file in files:
        with _opened(file) as parquet:
            column = parquet.schema_arrow.get_field_index("key")
            for group in range(parquet.metadata.num_row_groups):
                known = parquet.metadata.row_group(group).column(column).statistics
                if known is None or not known.has_min_max:
                    found.append(("", file, group))
                elif known.max > low and known.min <= high:
                    found.append((known.min, file, group))
    return sorted(found)


def _condition(table: Any, query: UrlsQuery, start: str, high: str) -> Any:
    keys = table["key"]
    wanted = pc.and_(pc.greater(keys, start), pc.less_equal(keys, high))
    for name, value in (("status", query.status), ("host", query.host.lower())):
        if value:
            wanted = pc.and_(wanted, pc.equal(table[name], value))
    return wanted


def _host_range(host: str) -> tuple[str, str]:
    """Return the keys between which all URLs of a host are."""
    try:
        url = canonical(f"http://{host}/")
    except UrlError as error:
        raise UsageError(f"{host!r} is not a host", where="?host") from error
    prefix = url.key.partition(")")[0]
    return prefix, prefix + ";"  # after the host follow ) or :, and both come before ;


def _joined(tables: Sequence[Any], schema: Any) -> Any:
    if not tables:
        return schema.empty_table()
    return pa.concat_tables(tables, promote_options="permissive")


def host_rows(table: Any, query: HostsQuery) -> RowTable:
    """Return a page of hosts from a table sorted by host.

    In that order, a page starts after a host; in any other, after a number of rows, because values are not unique.
    """
    found = table.filter(pc.match_substring(table["host"], query.contains.lower())) if query.contains else table
    if query.sort == "host" and not query.descending:
        later = found.filter(pc.greater(found["host"], query.after)) if query.after else found
        page = later.slice(0, query.limit)
        return RowTable(page, page["host"][-1].as_py() if later.num_rows > query.limit else None)
    if query.after and not (query.after.isdecimal() and query.after.isascii()):
        raise UsageError(f"{query.after!r} is not the start of a page", where="?after", hint="Give a `next`.")
    start = min(int(query.after or 0), found.num_rows)
    end = min(start + query.limit, found.num_rows)
    order = "descending" if query.descending else "ascending"
    rows = pc.sort_indices(found, [(query.sort, order), ("host", "ascending")]).slice(start, end - start)
    return RowTable(found.take(rows), str(end) if end < found.num_rows else None)


def segment_rows(crawl: CrawlDir, after: str, limit: int) -> tuple[list[dict[str, Any]], str | None]:
    """Return segments after a name: their state, and counts from the footers of their parts."""
    applied = applied_segments(crawl.crawldb) or frozenset()
    later = [each for each in crawl.all_segments() if each.name > after]
    rows: list[dict[str, Any]] = []
    for segment in later[:limit]:
        info = segment.info()
        fetched = sum(_row_count(file) for file in segment.crawl_fetch().files)
        parsed = sum(_row_count(file) for file in segment.parse_data().files)
        is_applied = segment.is_in(applied)
        state = "applied" if is_applied else "parsed" if segment.is_parsed else "fetched" if segment.is_fetched else ""
        rows.append(
            {
                "segment": segment.name,
                "state": state or ("fetching" if fetched else "generated"),
                "created": info.created,
                "made_by": info.made_by,
                "generated": info.urls,
                "fetched": fetched,
                "parsed": parsed,
                "size": sum(file_sizes(segment.path)),
            }
        )
    return rows, rows[-1]["segment"] if len(later) > limit else None


def file_sizes(path: Path) -> Iterator[int]:
    """Yield the sizes of all files in a folder."""
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):  # removed meanwhile
                yield Path(folder, name).lstat().st_size


def _row_count(file: str) -> int:
    with _opened(file) as parquet:
        return int(parquet.metadata.num_rows)


def _opened(file: str) -> Any:
    try:
        return pq.ParquetFile(file)
    except (OSError, pa.ArrowException) as failure:
        text = str(failure).partition("\n")[0]
        raise UserError(f"cannot read the file, it may be damaged: {text}", where=file) from failure


def json_rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a table for JSON."""
    return [json_value(row) for row in iter_rows(table.to_batches())]


def accepted_form(headers: Mapping[bytes, bytes], forms: Sequence[str]) -> str:
    """Return the first media type in an Accept header that is one of ``forms``; empty for JSON.

    >>> accepted_form({b"accept": b"text/csv;q=0.9, application/json"}, [CSV, ARROW])
    'text/csv'
    """
    for part in headers.get(b"accept", b"").decode("latin-1").lower().split(","):
        form = part.partition(";")[0].strip()
        if form in forms:
            return form
        if form in ("application/json", "*/*"):
            return ""
    return ""


def encoded_table(table: Any, form: str, *, exact: bool = False) -> bytes:
    """Return a table as an Arrow stream, a Parquet file, or CSV as `scoter sql --csv` prints it."""
    out = io.BytesIO()
    if form == ARROW:
        with pa.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table)
    elif form == PARQUET:
        pq.write_table(table, out, compression="zstd")
    else:
        out.write(csv_row(dict(zip(table.schema.names, table.schema.names, strict=True)), exact=exact))
        out.writelines(csv_row(row, exact=exact) for row in iter_rows(table.to_batches()))
    return out.getvalue()
