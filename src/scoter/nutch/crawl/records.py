"""Nutch's records, read from the bytes of a SequenceFile.

Every function takes the bytes of a value and returns a record, or raises ``Damage``. A record must end where its bytes
end: this is what exposes damaged lengths in uncompressed files, which have no checksums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Struct

from scoter.nutch.crawl.codecs import Damage, inflate
from scoter.nutch.crawl.writables import UnknownClass, WritableReader

_MAX_CONTENT: Final = 256 * 2**20
_DATUM_VERSION: Final = 7
Record = TypeVar("Record")
# CrawlDatum before version 5: signature, unfetched, fetched, gone, linked, success, retry, gone.
_OLD_STATUSES: Final = {0: 0x41, 1: 0x01, 2: 0x02, 3: 0x03, 4: 0x43, 5: 0x21, 6: 0x22, 7: 0x25}


class NutchDatum(Struct, frozen=True, gc=False):
    """Nutch's CrawlDatum; times are milliseconds since the epoch, the interval is in seconds."""

    status: int
    fetch_time: int
    retries: int
    interval: int
    score: float
    modified_time: int = 0
    signature: bytes | None = None
    metadata: dict[str, str] = {}
    unread: str = ""
    """Why some of the metadata could not be read."""


class NutchContent(Struct, frozen=True):
    """Nutch's Content: a body without its content coding, and the response headers among its metadata."""

    url: str
    base: str
    body: bytes
    content_type: str
    metadata: dict[str, tuple[str, ...]]


class NutchLink(Struct, frozen=True, gc=False):
    """A link: Nutch's Outlink (``url`` is the target) or Inlink (the source)."""

    url: str
    anchor: str


class NutchParse(Struct, frozen=True):
    """Nutch's ParseData."""

    major: int
    minor: int
    message: str
    title: str
    outlinks: list[NutchLink]
    content_metadata: dict[str, tuple[str, ...]]
    parse_metadata: dict[str, tuple[str, ...]]


class NutchHost(Struct, frozen=True):
    """Nutch's HostDatum; ``last_check`` is in milliseconds since the epoch."""

    score: float
    last_check: int
    homepage: str
    dns_failures: int
    connection_failures: int
    unfetched: int
    fetched: int
    notmodified: int
    redir_temp: int
    redir_perm: int
    gone: int
    metadata: dict[str, str]


def read_key(data: bytes) -> str:
    """Return a key: a text."""
    reader = WritableReader(data)
    found = reader.text()
    _check_end(reader)
    return found


def read_datum(data: bytes) -> NutchDatum:
    """Return a CrawlDatum of any version."""
    reader = WritableReader(data)
    version = reader.int8()
    if not 0 < version <= _DATUM_VERSION:
        raise Damage(f"CrawlDatum version {version} is not known")
    status = reader.int8()
    fetch_time, retries = reader.int64(), reader.int8()
    interval = reader.int32() if version > 5 else _rounded(reader.float32())
    score = reader.float32()
    modified, signature, metadata, unread = 0, None, {}, ""
    if version > 2:
        modified = reader.int64()
        size = reader.int8()
        signature = reader.raw(size) if size > 0 else None
    if version > 3 and reader.boolean():
        try:
            metadata = reader.map_writable()
        except UnknownClass as failure:  # the map is the last field, so everything else has been read
            metadata, unread = failure.known, str(failure)
            reader.at = len(data)
    if version < 5:
        status = _OLD_STATUSES.get(status, 0x01)
    _check_end(reader)
    return NutchDatum(status, fetch_time, retries, interval, score, modified, signature, metadata, unread)


def read_content(data: bytes) -> NutchContent:
    """Return a Content; before version -1 it is compressed as a whole."""
    reader = WritableReader(data)
    version = reader.int32()
    if version == -1:
        return _content(reader)
    if version < 0:
        raise Damage(f"Content version {version} is not known")
    reader = WritableReader(inflate(reader.raw(version), _MAX_CONTENT))
    old = reader.int8()
    if old not in (0, 1, 2):
        raise Damage(f"Content version {old} is not known")
    # Versions 0 and 1 write the metadata entry by entry, in the same form.
    return _content(reader)


def _content(reader: WritableReader) -> NutchContent:
    url, base = reader.text(), reader.text()
    body = reader.raw(reader.int32())
    content_type, metadata = reader.text(), reader.metadata()
    _check_end(reader)
    return NutchContent(url, base, body, content_type, metadata)


def read_parse(data: bytes) -> NutchParse:
    """Return a ParseData of version 5; early ones have links without metadata."""
    return _of_two_forms(data, _parse)


def _parse(data: bytes, links_have_metadata: bool) -> NutchParse:
    reader = WritableReader(data)
    version = reader.int8()
    if version != 5:
        raise Damage(f"ParseData version {version} is not known")
    major, minor, message = reader.parse_status()
    text = reader.text
    title, links = text(), []
    for _ in range(reader.count(2)):
        links.append(NutchLink(text(), text()))
        if links_have_metadata and reader.boolean():
            reader.map_writable()
    content, parse = reader.metadata(), reader.metadata()
    _check_end(reader)
    return NutchParse(major, minor, message, title, links, content, parse)


def read_parse_text(data: bytes) -> str:
    """Return a ParseText."""
    reader = WritableReader(data)
    version = reader.int8()
    if version not in (1, 2):
        raise Damage(f"ParseText version {version} is not known")
    found = reader.text() if version == 2 else reader.compressed_string()
    _check_end(reader)
    return found


def read_inlinks(data: bytes) -> list[NutchLink]:
    """Return Inlinks; before Nutch 1.21 they have no metadata."""
    return _of_two_forms(data, _inlinks)


def _inlinks(data: bytes, is_new: bool) -> list[NutchLink]:
    reader = WritableReader(data)
    text, found = reader.text, []
    for _ in range(reader.count(3 if is_new else 2)):
        found.append(NutchLink(text(), text()))
        if is_new and reader.boolean():
            reader.map_writable()
    _check_end(reader)
    return found


def _of_two_forms(data: bytes, read: Callable[[bytes, bool], Record]) -> Record:
    """Read a record in its new form, or else in its old one: they have no version, but only one ends with the data."""
    try:
        return read(data, True)
    except Damage as failure:
        try:
            return read(data, False)
        except Damage:
            raise failure from None


def read_host(data: bytes) -> NutchHost:
    """Return a HostDatum; early ones have counts of four bytes instead of eight."""
    return _of_two_forms(data, _host)


def _host(data: bytes, is_long: bool) -> NutchHost:
    reader = WritableReader(data)
    score, last_check, homepage = reader.float32(), reader.int64(), reader.text()
    read = reader.int64 if is_long else reader.int32
    found = NutchHost(
        score=score,
        last_check=last_check,
        homepage=homepage,
        dns_failures=read(),
        connection_failures=read(),
        unfetched=read(),
        fetched=read(),
        notmodified=read(),
        redir_temp=read(),
        redir_perm=read(),
        gone=read(),
        metadata=reader.map_writable(),
    )
    _check_end(reader)
    return found


def _check_end(reader: WritableReader) -> None:
    if not reader.is_at_end:
        raise Damage(f"there are {len(reader.data) - reader.at} bytes after the record")


def _rounded(seconds: float) -> int:
    if not -(2.0**31) <= seconds < 2.0**31:
        raise Damage(f"an interval cannot be {seconds} seconds")
    return round(seconds)
