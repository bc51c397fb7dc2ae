"""The facts about one URL of the synthetic web, before anything of it is sent."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

#: A body, by the number of the page's version.
Body = Callable[[int], bytes]


class AnswerClass(StrEnum):
    """What a URL answers, as a crawler that asks for it would sum it up."""

    PAGE = "page"
    TEXT = "text"
    FEED = "feed"
    SITEMAP = "sitemap"
    DOCUMENT = "document"
    IMAGE = "image"
    ROBOTS = "robots"
    NOT_FOUND = "not_found"
    REMOVED = "removed"
    MOVED = "moved"
    MOVED_FOR_NOW = "moved_for_now"
    REFRESH_NOW = "refresh_now"
    REFRESH_LATER = "refresh_later"
    FORBIDDEN = "forbidden"
    BUSY = "busy"
    RECOVERING = "recovering"
    SERVER_ERROR = "server_error"
    RESET = "reset"
    TRUNCATED = "truncated"
    DRIP = "drip"
    SILENT = "silent"
    BAD_CHUNKING = "bad_chunking"
    HEADER_FLOOD = "header_flood"
    BOMB = "bomb"
    OVERLONG = "overlong"
    MISTYPED = "mistyped"
    EMPTY = "empty"
    REFUSED = "refused"


class SimVerdict(StrEnum):
    """What a host's robots.txt says of a URL to a crawler that no group names."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNREACHABLE = "unreachable"


class WireBehaviour(StrEnum):
    """How an answer goes over the wire."""

    LENGTH = "length"
    CHUNKED = "chunked"
    UNTIL_CLOSE = "until_close"
    HANG_UP = "hang_up"
    RESET_AT_ONCE = "reset_at_once"
    RESET_MIDWAY = "reset_midway"
    SHORT_BODY = "short_body"
    SHORT_CHUNKS = "short_chunks"
    BAD_CHUNKS = "bad_chunks"
    DRIP = "drip"
    SILENT = "silent"
    HEADER_FLOOD = "header_flood"


class Validators(StrEnum):
    """Which validators a host sends for conditional requests."""

    BOTH = "both"
    ETAG = "etag"
    MODIFIED = "modified"
    NONE = "none"


class SimLink(msgspec.Struct, frozen=True):
    """A link as a page means it: ``url`` is canonical however the page spells it."""

    url: str
    text: str = ""
    nofollow: bool = False
    tag: str = "a"


def no_body(version: int) -> bytes:
    """The body of an answer that has none."""
    return b""


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One URL: what it answers, where it leads, and what to render when it is asked for."""

    host: str
    path: str
    answer: AnswerClass = AnswerClass.PAGE
    status: int = 200
    content_type: str = ""
    body: Body = no_body
    #: Links in the order of the page; a redirect's or a meta refresh's target is not among them.
    links: tuple[SimLink, ...] = ()
    #: The page says ``nofollow`` in its meta robots: none of its links is to be followed.
    nofollow: bool = False
    noindex: bool = False
    #: Location as it is sent, and the canonical URL it means.
    location: str = ""
    target: str = ""
    verdict: SimVerdict = SimVerdict.ALLOWED
    #: Reachable from the seeds through links and redirects that may be followed.
    expected: bool = True
    #: The bodies of one duplicate group are equal; those of a near group differ in a few words.
    duplicate: str = ""
    near: str = ""
    title: str = ""
    language: str = ""
    encoding: str = ""
    #: The name under which the tables of the documentation list it.
    shows: str = ""
    #: Seconds of simulated time between two versions (0: it never changes) and the age of the first.
    period: int = 0
    age: int = 0
    validators: Validators = Validators.NONE
    compress: bool = False
    wire: WireBehaviour = WireBehaviour.LENGTH
    headers: tuple[tuple[str, str], ...] = ()
    #: ``status`` is sent for this many requests, then the page itself with 200.
    failures: int = 0

    @property
    def url(self) -> str:
        """The canonical URL."""
        return f"http://{self.host}{self.path}"

    def version(self, now: float) -> int:
        """The number of the version that is served at ``now`` seconds of simulated time."""
        return int(now + self.age) // self.period if self.period else 0

    def modified(self, now: float) -> int:
        """When that version appeared, in seconds of simulated time (negative: before the start)."""
        return self.version(now) * self.period - self.age if self.period else -self.age
