"""What travels with a request through the fetch core, and the rows of a parsed page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.msgpack import Ext
from msgspec.structs import replace

from scoter.batch.urls.refusals import REFUSED
from scoter.core.datum import EPOCH, CrawlDatum, DbStatus, later
from scoter.core.page import EMPTY, Outlink
from scoter.core.reply import Headers, Request
from scoter.core.representative import REPRESENTATIVE, representative
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.store.warc import EarlierCapture

COOKIE = "Cookie"
"""Metadata key of a cookie to send with the request; Nutch's name."""
ETAG, LAST_MODIFIED = "ETag", "Last-Modified"
"""Metadata keys of the validators of our copy, as the server sent them; an empty text means none."""
VALIDATORS = (ETAG, LAST_MODIFIED)
ARCHIVED = "Archived"
"""Metadata key of the capture that holds our copy, for the archive record of a 304; an empty text means none.

Its WARC-Date and payload digest, and its URL if that is another one, whose page has the same body."""
_ARCHIVED = re.compile(r"([0-9T:.-]{19,26}Z) ([\w-]+:\w+)(?: (\S+))?", re.ASCII)


class RequestContext(Struct, frozen=True, array_like=True):
    """The record of a URL in its fetch list; times are microseconds since the epoch.

    ``hops`` counts the redirects followed in this run, ``steps`` the links. ``again``: the URL is requested once more
    with a cookie that its first answer set.
    """

    modified: int | None = None
    retries: int = 0
    interval: int = 0
    score: float = 0.0
    metadata: dict[str, str] | None = None
    extra: dict[str, Any] | None = None
    hops: int = 0
    steps: int = 0
    again: bool = False

    def cookies(self) -> Headers:
        """Return the Cookie header from the metadata, if there is one."""
        cookie = (self.metadata or EMPTY).get(COOKIE)
        return ((COOKIE, cookie),) if cookie else ()

    def copy(self, url: Url) -> EarlierCapture | None:
        """Return the capture of our copy of the URL; ``None`` if unknown."""
        found = _ARCHIVED.fullmatch((self.metadata or EMPTY).get(ARCHIVED, ""))
        return None if found is None else EarlierCapture(found[3] or url.text, found[1], found[2])

    def representative(self, source: Url, target: Url, *, permanent: bool) -> str | None:
        """Return the URL that represents the target of a redirect, or ``None`` if the target does itself.

        That of a redirect chain is chosen step by step.
        """
        with suppress(UrlError):  # a seed list may say anything
            source = canonical((self.metadata or EMPTY).get(REPRESENTATIVE, source.text))
        chosen = representative(source, target, permanent=permanent)
        return None if chosen.text == target.text else chosen.text

    def for_redirect(self, source: Url, target: Url, represented_by: str | None, interval: int) -> RequestContext:
        """Return the context for the target of a redirect: no validators, and no cookie if the host changes."""
        dropped = (*VALIDATORS, ARCHIVED, REPRESENTATIVE, REFUSED, *(() if source.host == target.host else (COOKIE,)))
        metadata = {name: value for name, value in (self.metadata or EMPTY).items() if name not in dropped}
        if represented_by is not None:
            metadata[REPRESENTATIVE] = represented_by
        return RequestContext(interval=interval, metadata=metadata or None, extra=self.extra, hops=self.hops + 1)

    def datum(self) -> CrawlDatum:
        """Return the record for scoring."""
        return CrawlDatum(
            status=DbStatus.UNFETCHED,
            modified_time=None if self.modified is None else later(EPOCH, timedelta(microseconds=self.modified)),
            retries=self.retries,
            interval=timedelta(seconds=self.interval),
            score=self.score,
            metadata=self.metadata or EMPTY,
            extra=self.extra or EMPTY,
        )


def archived_as(copy: EarlierCapture, url: Url) -> str:
    """Return the capture of our copy of a URL as metadata.

    >>> archived_as(EarlierCapture("http://a.example/", "2026-11-05T07:08:09.000000Z", "sha1:A"), canonical("http://a.example"))
    '2026-11-05T07:08:09.000000Z sha1:A'
    """
    return f"{copy.date} {copy.digest}" if copy.url == url.text else f"{copy.date} {copy.digest} {copy.url}"


def encode_context(known: RequestContext) -> bytes:
    """Return a context as bytes."""
    if known.extra is not None and not _PLAIN.issuperset(map(type, known.extra.values())):
        known = replace(known, extra=_packed(known.extra))
    return _encoder.encode(known)


def _packed(value: Any) -> Any:
    """Return a plug-in's value in a form that keeps its type: MessagePack would turn some types into text."""
    match value:
        case list():
            return [_packed(each) for each in value]
        case dict():
            return {name: _packed(each) for name, each in value.items()}
        case tuple():
            return Ext(_TUPLE, _encoder.encode([_packed(each) for each in value]))
        case Decimal():
            return Ext(_DECIMAL, str(value).encode())
        case timedelta():
            return Ext(_SPAN, str(value // _MICROSECOND).encode())
        case datetime():
            return value if value.tzinfo is not None else Ext(_DATETIME, value.isoformat().encode())
        case date():
            return Ext(_DATE, value.isoformat().encode())
        case time():
            return Ext(_TIME, value.isoformat().encode())
    return value


def _unpacked(code: int, data: memoryview) -> Any:
    return _READERS[code](bytes(data))


_PLAIN = frozenset({bool, int, float, str, bytes})
_MICROSECOND = timedelta(microseconds=1)
_TUPLE, _DECIMAL, _SPAN, _DATETIME, _DATE, _TIME = range(1, 7)
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(RequestContext, ext_hook=_unpacked)
_READERS: dict[int, Callable[[bytes], Any]] = {
    _TUPLE: lambda data: tuple(msgspec.msgpack.decode(data, ext_hook=_unpacked)),
    _DECIMAL: lambda data: Decimal(data.decode()),
    _SPAN: lambda data: int(data) * _MICROSECOND,
    _DATETIME: lambda data: datetime.fromisoformat(data.decode()),
    _DATE: lambda data: date.fromisoformat(data.decode()),
    _TIME: lambda data: time.fromisoformat(data.decode()),
}
decode_context = _decoder.decode


def datum_of(request: Request) -> CrawlDatum | None:
    """Return the crawl datum of a request, or ``None`` for one that is not in a fetch list, such as a robots.txt."""
    return decode_context(request.context).datum() if request.context else None


Row: TypeAlias = tuple[Any, ...]


class PageRows(Struct, frozen=True):
    """The rows of one page; ``weight`` is their approximate size in bytes."""

    data: Row
    text: Row | None
    links: Sequence[Outlink]
    weight: int = 0
