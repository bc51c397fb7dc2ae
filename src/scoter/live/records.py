"""What comes in, what is known of a URL, and what is announced of it."""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum, StrEnum

from msgspec import Struct

from scoter.api import Archived
from scoter.core.metadata import Image, PageMetadata
from scoter.core.url import Url


class Priority(IntEnum):
    """Who waits: a person, a program, or nobody."""

    PERSON = 0
    NORMAL = 1
    BULK = 2


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A text with links in it, or URLs as such.

    ``id`` is its sender's, or made on arrival; a message that comes twice under one id is one message. ``force`` asks
    for a fetch even if the URL is known; ``callback`` is where the outcome is to be posted.
    """

    id: str
    text: str = ""
    urls: tuple[str, ...] = ()
    priority: Priority = Priority.NORMAL
    force: bool = False
    callback: str = ""
    received: datetime


class State(StrEnum):
    """What came of a URL."""

    OK = "ok"  # a body came, whatever could be read of it
    FAILED = "failed"  # nothing usable came
    GONE = "gone"  # there is no such page
    DENIED = "denied"  # robots.txt forbids it
    REFUSED = "refused"  # we do not ask there: the address, port or scheme is not allowed, or the domain is blocked


class ContentKind(StrEnum):
    """What a URL is, for those who show it."""

    PAGE = "page"
    IMAGE = "image"
    VIDEO = "video"
    AUDIO = "audio"
    DOCUMENT = "document"
    OTHER = "other"


class ContentSummary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an answer holds, as far as anybody asks for it later.

    ``size`` is the bytes of its content, free of codings; ``canonical`` what a page calls itself, and ``onward`` where
    it sends its reader at once. ``problem`` tells why it could not be read, or in part only; ``noarchive`` that it is
    not to be archived.
    """

    media_type: str
    kind: ContentKind
    size: int
    truncated: bool = False
    about: PageMetadata | None = None
    canonical: Url | None = None
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
    """What fetching the representative image told."""

    image: Image
    bytes: int = 0
    state: State = State.OK
    archived: Archived | None = None


class UrlRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a URL; this is also its form in JSON, in the store and to clients.

    ``fetch`` names the fetch that it comes from: every URL of a chain has the same record but for ``url``.
    """

    url: str
    resolved: str
    state: State
    fetch: str
    fetched_at: datetime
    expires_at: datetime
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


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An announcement: a URL of a message is done. ``number`` orders events, and resumes a stream of them."""

    number: int
    message: str
    url: str
    at: datetime
    record: UrlRecord
