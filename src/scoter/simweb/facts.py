"""The description of one URL of the synthetic web, independent of how it is sent."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

#: Returns the body of a version.
Body = Callable[[int], bytes]


class AnswerClass(StrEnum):
    """How a URL responds, from a crawler's point of view."""

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
    """What a host's robots.txt says about a URL, to a crawler that no group names."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNREACHABLE = "unreachable"


class WireBehaviour(StrEnum):
    """How a response is sent."""

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
    """A link; ``url`` is canonical, however the page spells it."""

    url: str
    text: str = ""
    nofollow: bool = False
    tag: str = "a"


def no_body(version: int) -> bytes:
    """Return an empty body."""
    return b""


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One URL: its response, its links, and how to render its body."""

    host: str
    path: str
    answer: AnswerClass = AnswerClass.PAGE
    status: int = 200
    content_type: str = ""
    body: Body = no_body
    #: Links in page order, without the target of a redirect or meta refresh.
    links: tuple[SimLink, ...] = ()
    #: The page has ``nofollow`` in its robots meta element.
    nofollow: bool = False
    noindex: bool = False
    #: The Location header as sent, and its canonical target.
    location: str = ""
    target: str = ""
    verdict: SimVerdict = SimVerdict.ALLOWED
    #: Reachable from the seeds through links and redirects that may be followed.
    expected: bool = True
    #: Bodies in a duplicate group are identical; those in a near-duplicate group differ in a few words.
    duplicate: str = ""
    near: str = ""
    title: str = ""
    language: str = ""
    encoding: str = ""
    #: The feature that it demonstrates, as listed in docs/simweb.md.
    shows: str = ""
    #: Seconds of simulated time between versions (0: never changes), and the age of the first version.
    period: int = 0
    age: int = 0
    validators: Validators = Validators.NONE
    compress: bool = False
    wire: WireBehaviour = WireBehaviour.LENGTH
    headers: tuple[tuple[str, str], ...] = ()
    #: ``status`` is sent for this many requests, then the page with 200.
    failures: int = 0

    @property
    def url(self) -> str:
        """The canonical URL."""
        return f"http://{self.host}{self.path}"

    def version(self, now: float) -> int:
        """Return the number of the version at ``now`` seconds of simulated time."""
        return int(now + self.age) // self.period if self.period else 0

    def modified(self, now: float) -> int:
        """Return when that version appeared, in seconds of simulated time; negative means before the start."""
        return self.version(now) * self.period - self.age if self.period else -self.age
