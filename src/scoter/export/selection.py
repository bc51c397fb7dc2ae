"""Which pages to export: the newest version of each, without duplicates and noindex pages, chosen by expression or SQL.

There are two kinds of selections. One of *pages* takes the newest successful parse of every URL, including the entries
of feeds; it is for formats made of text and metadata. One of *captures* takes the newest archived response of every
URL, parsed or not; it is for formats made of archived bytes. Both are saved to a file before anything is exported, so
that an export that is continued later exports the same pages whatever was crawled meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.pages import owner_of
from scoter.batch.crawldir.segment import Segment, SegmentSources
from scoter.batch.jobs.sql import sql as sql_session
from scoter.core.datum import DbStatus, FetchStatus, PartStatus, short_name
from scoter.core.expr import Typed, compile_expr
from scoter.core.url import canonical
from scoter.engine import Engine, TableSource, file_source, source_of
from scoter.engine.expressions import where
from scoter.engine.port import Rows
from scoter.errors import UrlError, UsageError
from scoter.export.fields import FIELDS, ExportField, expression_fields, fields_of_expression, from_origin, schema_of
from scoter.plugins.recorded import ibis
from scoter.store.tables.parquet import write_batches

_FETCHED = (short_name(DbStatus.FETCHED), short_name(DbStatus.NOTMODIFIED))
_DUPLICATE = short_name(DbStatus.DUPLICATE)
_UNPARSED = short_name(DbStatus.PARSE_FAILED)
_REDIRECTS = (short_name(DbStatus.REDIR_TEMP), short_name(DbStatus.REDIR_PERM))
_ARCHIVED = (short_name(FetchStatus.SUCCESS), short_name(PartStatus.PARSE_FAILED))
_REDIRECTED = (short_name(FetchStatus.REDIR_TEMP), short_name(FetchStatus.REDIR_PERM))
_HOST = r"^[a-z][a-z0-9+.-]*://(\[[^\]]*\]|[^/:?#]*)"
_URLS = pa.schema(schemas.texts("url"))
_PLACE = ("url", "key", "owner", "segment")
PLACE = pa.schema(schemas.texts(*_PLACE))
"""The first columns of a selection: the page, the URL that was fetched for it, and the segment that holds both."""
_BATCH = 8_192


class PageFilter(Struct, frozen=True, kw_only=True):
    """Conditions on pages; all of them must hold. ``sql`` must return a column ``url``; ``types`` are media types."""

    where: str = ""
    sql: str = ""
    types: tuple[str, ...] = ()
    duplicates: bool = False
    noindex: bool = False
    redirects: bool = False

    def expression(self) -> Typed | None:
        """Return the checked expression, or ``None`` without one."""
        for option, text in (("--where", self.where), ("--sql", self.sql), ("--type", "".join(self.types))):
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise UsageError("is not valid UTF-8", where=option)
        return compile_expr(self.where, expression_fields()) if self.where else None


class PageTables(Struct, frozen=True, kw_only=True):
    """The tables that pages are selected from; ``urls`` are those that a SQL query returned, if there is one."""

    segments: Sequence[Segment]
    crawldb: TableSource
    urls: TableSource | None = None


def selection_schema(fields: Iterable[str]) -> Any:
    """Return the columns of a selection: the place of each page, and the fields among ``fields`` that it holds."""
    held = [field.name for field in from_origin(fields, "crawldb", "fetch")]
    return pa.schema([*PLACE, *schema_of(held)])


def select_pages(
    engine: Engine, tables: PageTables, wanted: PageFilter, fields: Iterable[str], now: datetime, file: Path
) -> int:
    """Save the selected pages to a file, sorted by key, with fields of crawldb and fetch; return their number."""
    expression = wanted.expression()
    schema = selection_schema(fields)
    needed = _needed(expression, wanted, schema.names)
    rows = _newest(_parses(engine, tables.segments, needed))
    rows = _with_fetches(engine, tables.segments, rows, from_origin(needed, "fetch"))
    statuses = (*_FETCHED, *([_DUPLICATE] if wanted.duplicates else []))
    rows = _filtered(engine, _known(engine, tables.crawldb, rows, needed, statuses), tables, wanted, expression, now)
    return engine.save(rows.select(*schema.names), schema, file, order=("key", "url"))


def select_captures(
    engine: Engine, tables: PageTables, wanted: PageFilter, fields: Sequence[str], now: datetime, file: Path
) -> int:
    """Save the selected captures to a file with fields of any table except texts, in the order of the archives."""
    expression = wanted.expression()
    needed = _needed(expression, wanted, (*fields, "warc_file", "warc_offset", "content_type"))
    texts = from_origin(needed, "text", "linkdb")
    if texts:
        raise UsageError(f"captures cannot be selected by {texts[0].name}", where="--where", hint="Use --sql instead.")
    rows = _newest(_captures(engine, tables.segments, from_origin(needed, "fetch"), redirects=wanted.redirects))
    rows = _with_parses(engine, tables.segments, rows, from_origin(needed, "data"))
    statuses = (*_FETCHED, _UNPARSED, *([_DUPLICATE] if wanted.duplicates else []))
    statuses += _REDIRECTS if wanted.redirects else ()
    rows = _filtered(engine, _known(engine, tables.crawldb, rows, needed, statuses), tables, wanted, expression, now)
    schema = captures_schema(fields)
    return engine.save(rows.select(*schema.names), schema, file, order=("segment", "warc_file", "warc_offset"))


def captures_schema(fields: Sequence[str]) -> Any:
    """Return the columns of a selection of captures."""
    return pa.schema([*PLACE, *schema_of(name for name in fields if name not in _PLACE)])


def save_urls(crawl: Any, query: str, file: Path, *, memory_limit: int) -> TableSource:
    """Run a query over the tables of a crawl and save the URLs that it returns."""
    with sql_session(crawl, memory_limit=memory_limit) as session:
        found = session.query(query)
        if "url" not in found.columns:
            columns = ", ".join(found.columns)
            hint = "For example: SELECT url FROM pages WHERE language = 'de'"
            raise UsageError(f"the query returns no column url, but {columns}", where="--sql", hint=hint)
        write_batches(file, _URLS, _url_batches(found.rows))
    return file_source(file, _URLS)


def _url_batches(rows: Iterator[dict[str, Any]]) -> Iterator[Any]:
    found: list[str] = []
    for row in rows:
        try:
            found.append(canonical(str(row["url"])).text)
        except UrlError:
            continue  # no page has such a URL
        if len(found) == _BATCH:
            yield pa.RecordBatch.from_pydict({"url": found}, schema=_URLS)
            found = []
    yield pa.RecordBatch.from_pydict({"url": found}, schema=_URLS)


def _needed(expression: Typed | None, wanted: PageFilter, fields: Iterable[str]) -> tuple[str, ...]:
    """Return the fields that the filter uses or the selection holds."""
    used = fields_of_expression(expression) if expression is not None else frozenset()
    extra = ("content_type",) if wanted.types else ()
    return tuple(dict.fromkeys([*(name for name in fields if name in FIELDS), *sorted(used), *extra]))


def _parses(engine: Engine, segments: Sequence[Segment], needed: Iterable[str]) -> Rows:
    """Return the successful parses of all segments, each with a text ``place`` that is greater for the better one.

    An entry of a feed counts only if its page was not fetched itself. The entry may be in several feeds.
    """
    data, texts = from_origin(needed, "data"), from_origin(needed, "text")
    columns = dict.fromkeys(["url", "key", "parse_status", "part_of", "noindex", *(field.column for field in data)])
    found = []
    for segment in segments:
        stored = SegmentSources([segment])
        rows = engine.read(source_of(stored.parse_data, tuple(columns)))
        rows = rows.filter(rows.parse_status == "success")
        owner = owner_of(rows)
        own = (owner == rows.url).ifelse("1", "0")
        rows = rows.select(
            "url",
            "key",
            owner=owner,
            segment=ibis.literal(segment.name),
            place=own + ibis.literal(f"{segment.name} ") + owner,
            is_noindex=rows.noindex.fill_null(False),
            **{field.name: rows[field.column] for field in data},
        )
        found.append(_with_texts(engine, stored.parse_text, rows, texts) if texts else rows)
    return ibis.union(*found)


def text_value(rows: Rows, column: str) -> Any:
    """Return a column of ``parse_text``, or the content: the main text, or the whole text of a page without one."""
    return rows.main_text.nullif("").coalesce(rows.text) if column == "content" else rows[column]


def text_columns(fields: Sequence[ExportField]) -> tuple[str, ...]:
    """Return the stored columns that text fields are made from."""
    made = {"content": ("text", "main_text")}
    return tuple(dict.fromkeys(name for field in fields for name in made.get(field.column, (field.column,))))


def _with_texts(engine: Engine, source: TableSource, rows: Rows, fields: Sequence[ExportField]) -> Rows:
    texts = engine.read(source_of(source, ("url", "part_of", *text_columns(fields))))
    texts = texts.select(
        text_url="url", text_owner=owner_of(texts), **{field.name: text_value(texts, field.column) for field in fields}
    )
    return rows.left_join(texts, [rows.url == texts.text_url, rows.owner == texts.text_owner]).drop(
        "text_url", "text_owner"
    )


def _captures(engine: Engine, segments: Sequence[Segment], fields: Sequence[ExportField], *, redirects: bool) -> Rows:
    """Return the archived responses of all segments, each with a text ``place`` that is greater for the newer one."""
    statuses = (*_ARCHIVED, *(_REDIRECTED if redirects else ()))
    columns = dict.fromkeys(["url", "key", "status", "content_type", "warc_file", *(field.column for field in fields)])
    found = []
    for segment in segments:
        rows = engine.read(source_of(SegmentSources([segment]).fetch, tuple(columns)))
        rows = rows.filter(rows.status.isin(statuses) & (rows.warc_file.fill_null("") != ""))
        found.append(
            rows.select(
                "url",
                "key",
                owner="url",
                segment=ibis.literal(segment.name),
                place=ibis.literal(f"{segment.name} ") + rows.warc_file,
                sent_type=rows.content_type,
                **{field.name: rows[field.column] for field in fields},
            )
        )
    return ibis.union(*found)


def _newest(rows: Rows) -> Rows:
    """Return the row of every URL with the greatest place."""
    best = rows.group_by(best_url="url").agg(best_place=rows.place.max())
    joined = rows.join(best, [rows.url == best.best_url, rows.place == best.best_place])
    return joined.drop("best_url", "best_place", "place")


def _with_fetches(engine: Engine, segments: Sequence[Segment], rows: Rows, fields: Sequence[ExportField]) -> Rows:
    """Add columns of the fetch that a parse belongs to."""
    if not fields:
        return rows
    columns = ("url", *dict.fromkeys(field.column for field in fields))
    found = []
    for segment in segments:
        fetches = engine.read(source_of(SegmentSources([segment]).fetch, columns))
        made = {field.name: fetches[field.column] for field in fields}
        found.append(fetches.select(fetch_url="url", fetch_segment=ibis.literal(segment.name), **made))
    fetches = ibis.union(*found)
    joined = rows.left_join(fetches, [rows.owner == fetches.fetch_url, rows.segment == fetches.fetch_segment])
    return joined.drop("fetch_url", "fetch_segment")


def _with_parses(engine: Engine, segments: Sequence[Segment], rows: Rows, fields: Sequence[ExportField]) -> Rows:
    """Add columns of the parse of a capture; without one, the content type is the server's."""
    columns = dict.fromkeys(["url", "part_of", "noindex", *(field.column for field in fields)])
    found = []
    for segment in segments:
        data = engine.read(source_of(SegmentSources([segment]).parse_data, tuple(columns)))
        data = data.filter(owner_of(data) == data.url)
        made = {field.name: data[field.column] for field in fields}
        found.append(
            data.select(parse_url="url", parse_segment=ibis.literal(segment.name), no_index=data.noindex, **made)
        )
    data = ibis.union(*found)
    joined = rows.left_join(data, [rows.url == data.parse_url, rows.segment == data.parse_segment])
    sent = joined.sent_type.split(";")[0].strip().lower()
    return joined.mutate(
        is_noindex=joined.no_index.fill_null(False), content_type=joined.content_type.nullif("").coalesce(sent)
    ).drop("parse_url", "parse_segment", "no_index", "sent_type")


def _known(engine: Engine, crawldb: TableSource, rows: Rows, needed: Iterable[str], statuses: Sequence[str]) -> Rows:
    """Keep pages whose record has one of the statuses, and add columns of the record and the URL."""
    fields = from_origin(needed, "crawldb")
    columns = dict.fromkeys(["url", "status", *(field.column for field in fields)])
    known = engine.read(source_of(crawldb, tuple(columns)))
    known = known.filter(known.status.isin(statuses))
    known = known.select(db_url="url", **{field.name: known[field.column] for field in fields})
    joined = rows.join(known, rows.owner == known.db_url).drop("db_url")
    return joined.mutate(host=host_of(joined.url), part_of=part_of(joined))


def host_of(url: Any) -> Any:
    """Return the host of a canonical URL."""
    return url.re_extract(_HOST, 1)


def part_of(rows: Rows) -> Any:
    """Return the URL of the feed or archive that a page is an entry of, or null."""
    return rows.owner.nullif(rows.url)


def _filtered(
    engine: Engine, rows: Rows, tables: PageTables, wanted: PageFilter, expression: Typed | None, now: datetime
) -> Rows:
    if not wanted.noindex:
        rows = rows.filter(~rows.is_noindex)
    if wanted.types:
        rows = rows.filter(_is_of_type(rows.content_type.lower(), wanted.types))
    if tables.urls is not None:
        chosen = engine.read(tables.urls).distinct()
        rows = rows.semi_join(chosen, "url")
    return rows if expression is None else where(engine, rows, expression, now)


def _is_of_type(column: Any, types: Sequence[str]) -> Any:
    """Return whether a content type is one of some types, of which ``image/*`` stands for all images."""
    parts = [
        column.startswith(each.lower().removesuffix("*")) if each.endswith("/*") else column == each.lower()
        for each in types
    ]
    found = parts[0]
    for part in parts[1:]:
        found = found | part
    return found
