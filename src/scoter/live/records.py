"""The records of the live service: messages, URL records and events."""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any

from msgspec import Struct

from scoter.core.metadata import Image, PageMetadata
from scoter.core.url import Url
from scoter.http.records import Instant
from scoter.live.api.records import Archived


class Priority(IntEnum):
    """Who waits: a person, a program, or nobody."""

    PERSON = 0
    NORMAL = 1
    BULK = 2


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A submitted text with links, or a list of URLs.

    ``id`` comes from the sender or is generated, and begins with the name of the sender's tenant (``tenants``); two
    messages with the same id are one message. ``force`` requests a fetch even if a fresh record exists. ``callback`` is
    the URL that outcomes are posted to. Without ``is_named``, the service has generated the id, and no other message
    has it. ``digest`` is that of everything that the sender chose; it is empty if unknown.
    """

    id: str
    text: str = ""
    urls: tuple[str, ...] = ()
    priority: Priority = Priority.NORMAL
    force: bool = False
    callback: str = ""
    received: datetime
    is_named: bool = True
    digest: bytes = b""


class State(StrEnum):
    """The result of fetching a URL."""

    OK = "ok"  # a body was received, even if it could not be parsed
    FAILED = "failed"  # no usable response
    CHALLENGED = "challenged"  # a challenge, a login wall or a consent wall instead of the page
    GONE = "gone"  # the page does not exist
    DENIED = "denied"  # robots.txt forbids it
    REFUSED = "refused"  # the address, port or scheme is not allowed, or the domain is blocked


class ContentKind(StrEnum):
    """The kind of content, for display."""

    PAGE = "page"
    IMAGE = "image"
    VIDEO = "video"
    AUDIO = "audio"
    DOCUMENT = "document"
    OTHER = "other"


class ContentSummary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parts of a parsed response that the record needs.

    ``size`` is the number of bytes after decoding. ``onward`` is the target of the page's immediate refresh.
    ``problem`` says why parsing failed, wholly or in part. ``noarchive`` forbids archiving. ``is_damaged`` if the body
    could not be decoded to its end; the body as received may then be truncated.
    """

    media_type: str
    kind: ContentKind
    size: int
    truncated: bool = False
    is_damaged: bool = False
    about: PageMetadata | None = None
    onward: Url | None = None
    width: int | None = None
    height: int | None = None
    problem: str = ""
    noarchive: bool = False


class Hop(Struct, frozen=True, omit_defaults=True):
    """One step from the submitted URL to the page."""

    url: str
    status: int
    permanent: bool = False


class Related(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The preview image of a page, as fetched; ``bytes`` is 0 if the size of the file is unknown."""

    image: Image
    bytes: int = 0
    state: State = State.OK
    archived: Archived | None = None


class StaleReason(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a record is stale: the last attempt to fetch its URL again failed.

    A message before ``retry_at`` gets the stale record; a later one fetches the URL again. ``failures`` counts the
    failures since the last success that may pass.
    """

    reason: str
    detail: str = ""
    status: int | None = None
    failed_at: datetime
    retry_at: datetime
    failures: int = 0


class UrlRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything known about a URL. Its JSON form is what the store holds and clients receive.

    ``fetch`` is the id of the fetch that produced it: all URLs of a redirect chain share a record, except for ``url``
    and ``hops``. If ``stale`` is set, everything else is the result of the last successful fetch. ``retry_at`` is when
    the URL is fetched again because its last fetch failed; ``failures`` counts the failures so far that may pass.
    """

    url: str
    resolved: str
    state: State
    fetch: str
    fetched_at: Instant
    expires_at: Instant
    status: int | None = None
    reason: str = ""
    detail: str = ""
    hops: tuple[Hop, ...] = ()
    kind: ContentKind = ContentKind.OTHER
    content_type: str = ""
    length: int = 0
    truncated: bool = False
    metadata: PageMetadata | None = None
    related: Related | None = None
    archived: Archived | None = None
    stale: StaleReason | None = None
    retry_at: Instant | None = None
    failures: int = 0

    @property
    def attempted_at(self) -> datetime:
        """When the URL was last fetched, successfully or not."""
        return self.fetched_at if self.stale is None else self.stale.failed_at

    def is_due(self, now: datetime) -> bool:
        """Return whether the URL should be fetched again because its last fetch failed."""
        due = self.retry_at if self.stale is None else self.stale.retry_at
        return due is not None and due <= now


class Preview(UrlRecord, frozen=True, kw_only=True, omit_defaults=True):
    """A record with what the page's oEmbed endpoint answered; its ``html`` is as trustworthy as the page."""

    oembed: dict[str, Any] | None = None


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The announcement that a URL of a message is done. Clients resume a stream of events by ``number``.

    ``tenant`` is empty for messages of the tenant without a name.
    """

    number: int
    message: str
    url: str
    at: Instant
    record: UrlRecord
    tenant: str = ""
