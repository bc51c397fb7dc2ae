"""The archived HTML of the pages of a segment, part by part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow.parquet as pq
from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser

from scoter.batch.crawldir.segment import Segment
from scoter.config import Config
from scoter.core.reply import Truncation
from scoter.core.url import Url, canonical, join
from scoter.errors import UserError
from scoter.fetch.decode import content_codings, decode
from scoter.parse.encoding import decode_page
from scoter.parse.filetypes import XHTML
from scoter.parse.mediatype import HTML, make_content
from scoter.parse.prescan import shallow_part
from scoter.store.disk import Closing
from scoter.store.objects.copies import local_file
from scoter.store.warc import ArchiveFolder

_COLUMNS: Final = ("url", "key", "host", "status", "truncated", "content_type", "warc_file", "warc_offset")
_BATCH: Final = 4_096
_BASE: Final = re.compile(rb"<base\s", re.IGNORECASE)
_BASE_WITHIN: Final = 16_384
_EMPTY: Final = 4_096  # bytes of a column chunk that may be without values


class Place(Struct, frozen=True):
    """Where a page is archived."""

    url: str
    host: str
    file: str
    offset: int
    truncated: str
    type: str = ""


class Markup(Struct, frozen=True):
    """An archived page as UTF-8, with what its links are relative to and its original character encoding."""

    utf8: bytes
    base: Url
    encoding: str


class Captures(Closing):
    """Reads pages of a segment from its archive."""

    def __init__(self, segment: Segment, config: Config) -> None:
        self._segment = segment
        self._limit = config.fetch.content_limit
        self._sniffs = config.parse.mime_type_magic
        self._default = config.parse.character_encoding_default
        self._archive = ArchiveFolder(segment.content)

    def close(self) -> None:
        self._archive.close()

    def markup(self, place: Place) -> Markup | None:
        """Return the markup of a page, or ``None`` if it is not HTML or its record is damaged."""
        try:
            capture = self._archive.at(place.file, place.offset)
        except UserError:
            return None
        codings = content_codings(capture.headers)
        body = decode(capture.body, codings, self._limit).body if codings else capture.body
        url = canonical(place.url)
        truncated = Truncation(place.truncated) is not Truncation.NOT
        content = make_content(url, capture.headers, body, truncated=truncated, sniff=self._sniffs)
        if content.media_type not in (HTML, XHTML):
            return None
        source = decode_page(content.body, content.encoding, self._default)
        utf8 = shallow_part(source.utf8)
        return Markup(utf8, _base(utf8, url), source.encoding)


def _base(utf8: bytes, url: Url) -> Url:
    if not _BASE.search(utf8, 0, _BASE_WITHIN):
        return url
    for node in LexborHTMLParser(utf8[:_BASE_WITHIN]).css("base[href]"):
        return join(url, node.attributes.get("href") or "") or url
    return url


def html_places(segment: Segment, part: str) -> Iterator[Place]:
    """Yield where the pages of a part of the fetch are archived that were served as HTML."""
    return (place for place in _places(segment, part) if not place.type or "html" in place.type)


class PlaceFinder:
    """Finds where pages of a part are archived.

    Their captures are in the part of the fetch with the same name. Merged segments have other parts, sorted by key.
    """

    def __init__(self, segment: Segment, part: str) -> None:
        self._segment = segment
        self._parts = segment.crawl_fetch().finished()
        self._own = {each.url: each for each in _places(segment, part)} if part in self._parts else None

    def places(self, wanted: Mapping[str, str]) -> Mapping[str, Place]:
        """Return where pages are archived, given their sort keys by URL."""
        if self._own is not None or not wanted:
            return self._own or {}
        first, last = min(wanted.values()), max(wanted.values())
        found = (each for part in self._parts for each in _places(self._segment, part, first, last))
        return {each.url: each for each in found if each.url in wanted}


def _places(segment: Segment, part: str, first: str = "", last: str = "") -> Iterator[Place]:
    with pq.ParquetFile(local_file(segment.crawl_fetch().location(part)), pre_buffer=False) as file:
        groups = [number for number in range(file.num_row_groups) if _may_hold(file, number, first, last)]
        for batch in file.iter_batches(_BATCH, row_groups=groups, columns=list(_COLUMNS)) if groups else ():
            columns = (batch.column(name).to_pylist() for name in _COLUMNS)
            for url, _, host, status, truncated, kind, warc_file, offset in zip(*columns, strict=True):
                if status == "success" and warc_file:
                    yield Place(url, host or "", warc_file, offset, truncated or "", (kind or "").lower())


def _may_hold(file: Any, number: int, first: str, last: str) -> bool:
    """Return whether a row group may hold keys of a range, by its statistics."""
    if not first:
        return True
    group = file.metadata.row_group(number)
    index = file.schema_arrow.get_field_index("key")
    found = group.column(index).statistics
    return found is None or not found.has_min_max or (found.min <= last and found.max >= first)


def has_values(file: Any, column: str) -> bool:
    """Return whether a column of an open Parquet file has a value; reading one without values costs next to nothing."""
    index = file.schema_arrow.get_field_index(column)
    if index < 0:
        return False
    for number in range(file.num_row_groups):
        if file.metadata.row_group(number).column(index).total_compressed_size > _EMPTY:
            return True
        table = file.read_row_group(number, columns=[column])
        if table.column(0).null_count < table.num_rows:
            return True
    return False
