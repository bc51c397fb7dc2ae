"""A whole segment, URL by URL: each table is sorted by URL, and they are read side by side."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import base64
import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch import schemas
from scoter.batch.counted import counted
from scoter.batch.directory import CrawlDir
from scoter.batch.dumping import rows
from scoter.batch.plain import plain, shown
from scoter.batch.readseg import Archive, Content, Holding, Row, fetched_last, own_first
from scoter.batch.segment import Segment
from scoter.config import Config
from scoter.core.display import size
from scoter.engine import Engine, Source
from scoter.plugins import chain
from scoter.store.disk import scratch_of_reader

_BATCH = 1_024
_OUTLINKS = 1_000
"""Links told of one page; crawls keep a hundred, unless they were told otherwise."""


_NOTHING: tuple[Any, ...] = (None, {}, "", [])


class Wanted(Struct, frozen=True, kw_only=True):
    """What of a segment is wanted."""

    content: bool = True
    fetch: bool = True
    generate: bool = True
    outlinks: bool = True
    parse_data: bool = True
    parse_text: bool = True


def holdings(
    crawl: CrawlDir, engine: Engine, config: Config, segment: Segment, wanted: Wanted, *, recode: bool = False
) -> Iterator[Holding]:
    """Yield what a segment has of each URL, by URL."""
    parts = counted([segment], schemas.plugin_columns(chain("scoring", config)))
    sources = {
        "generate": (parts.generate, wanted.generate),
        "fetch": (parts.fetch, wanted.fetch or wanted.content),
        "parse_data": (parts.parse_data, wanted.parse_data),
        "parse_text": (parts.parse_text, wanted.parse_text),
        "outlinks": (parts.links, wanted.outlinks),
    }
    scratch = scratch_of_reader(crawl.scratch, "readseg")
    archive = Archive(segment, recode=recode)
    try:
        runs = [
            _sorted(engine, source, kind, scratch.path / f"{kind}.parquet")
            for kind, (source, is_wanted) in sources.items()
            if is_wanted and source.files
        ]
        for url, found in groupby(heapq.merge(*runs, key=lambda each: each[0]), key=lambda each: each[0]):
            yield _holding(segment, url, found, archive, wanted)
    finally:
        archive.close()
        scratch.close()


def as_object(found: Holding) -> dict[str, Any]:
    """Return a holding as JSON has it; a body is text, or ``body_base64`` where it is none."""
    fields = {name: getattr(found, name) for name in found.__struct_fields__ if name != "content"}
    if found.content is not None:
        fields["content"] = {"status": found.content.status, "headers": found.content.headers, **_body(found.content)}
    if found.parse_data is not None and found.parse_data["about"]:
        fields["parse_data"] = {**found.parse_data, "about": _about(found.parse_data["about"])}
    return {name: plain(value) for name, value in fields.items() if value is not None}


def as_lines(found: Holding) -> Iterator[str]:
    """Yield a holding for people."""
    yield f"{found.url}  (segment {found.segment})"
    for title, row in (("generate", found.generate), ("fetch", found.fetch), ("parse data", found.parse_data)):
        if row is not None:
            yield f"{title}:"
            told = {name: value for name, value in row.items() if value not in _NOTHING}
            widest = max(map(len, told), default=0)
            yield from (f"  {name:<{widest}}  {shown(value)}" for name, value in told.items())
    if found.outlinks:
        yield f"outlinks ({len(found.outlinks):,}):"
        yield from (f"  {link['url']}  {link['anchor'] or ''}".rstrip() for link in found.outlinks)
    for title, name in (("text", "text"), ("main text", "main_text"), ("Markdown", "markdown")):
        if found.parse_text is not None and found.parse_text[name]:
            yield f"{title}:"
            yield from _indented(found.parse_text[name])
    if found.content is not None:
        spoken = f"HTTP {found.content.status}, " if found.content.status else ""
        yield f"content ({spoken}{size(len(found.content.body))}):"
        yield from (f"  {name}: {value}" for name, value in found.content.headers)
        if found.content.problem:
            yield f"  ({found.content.problem})"
        yield ""
        if not found.content.is_binary:
            yield from _indented(found.content.body.decode("utf-8", "replace"))
    yield ""


def _sorted(engine: Engine, source: Source, kind: str, file: Path) -> Iterator[tuple[str, str, Row]]:
    by = "source" if kind == "outlinks" else "url"
    order = [by, "url"] if kind == "outlinks" else [by]
    engine.save(engine.read(source), source.schema, file, order)
    with pq.ParquetFile(file) as parquet:
        for row in rows(parquet.iter_batches(_BATCH)):
            yield row[by], kind, row


def _holding(
    segment: Segment, url: str, found: Iterator[tuple[str, str, Row]], archive: Archive, wanted: Wanted
) -> Holding:
    fields: dict[str, Any] = {}
    links: list[Row] = []
    for _, kind, row in found:
        if kind == "fetch":
            fields[kind] = max(fields.get(kind, row), row, key=fetched_last)
        elif kind != "outlinks":
            # What stood inside another document gives way to the page that was fetched.
            if kind not in fields or "part_of" not in row or not own_first(row):
                fields[kind] = row
        elif len(links) < _OUTLINKS:
            links.append(row)
    fetch = fields.get("fetch") if wanted.fetch else fields.pop("fetch", None)
    content = archive.content(fetch) if wanted.content and fetch is not None else None
    return Holding(segment=segment.name, url=url, content=content, outlinks=tuple(links), **fields)


def _about(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:  # a file that somebody else has written
        return text


def _body(content: Content) -> dict[str, str]:
    if content.is_binary:
        return {"body_base64": base64.b64encode(content.body).decode()}
    return {"body": content.body.decode("utf-8", "replace")}


def _indented(text: str) -> Sequence[str]:
    return [f"  {line}" for line in text.splitlines()]
