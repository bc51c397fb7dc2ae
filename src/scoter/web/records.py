"""What the API takes and gives, beyond the records of the live service itself."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct

from scoter.api import Archived
from scoter.core.extract import LONGEST
from scoter.live.records import Priority, UrlRecord

MOST_URLS = 300
MOST_MESSAGES = 1_000
MOST_WAIT = 30.0

ONE_LINE = r"^[^\x00-\x1f\x7f]+(?![\s\S])"
DURATION = r"^[0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m)?(?![\s\S])"
# What is told to those whose text does not match.
IN_WORDS = {
    ONE_LINE: "Expected a text on one line, without control characters",
    DURATION: "Expected a time such as 500ms, 5s or 1m",
}

# The formats are names of our own: what is a URL (WHATWG's), and which ones may be posted to, is more than a schema can
# say.
UrlText = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LONGEST,
        description="A URL, in any spelling.",
        extra_json_schema={"format": "url"},
    ),
]
# One among others: what is wrong with it is told of it alone, and the others count.
ListedUrl = Annotated[str, Meta(description="A URL, in any spelling.", extra_json_schema={"format": "url"})]
Callback = Annotated[
    str,
    Meta(
        max_length=2_000,
        description="An http or https URL at a public address, to which outcomes are posted; none where it is empty.",
        extra_json_schema={"format": "callback"},
    ),
]
MessageId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern=ONE_LINE,
        description="The sender's own name for it.",
    ),
]
Wait = Annotated[
    str,
    Meta(
        pattern=DURATION,
        description="How long to wait, such as 5s; at most 30 s.",
    ),
]


class Urgency(StrEnum):
    """Who waits: a person, a program, or nobody."""

    PERSON = "person"
    NORMAL = "normal"
    BULK = "bulk"

    @property
    def priority(self) -> Priority:
        return Priority[self.name]


class Submission(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message: a text with links in it, or URLs as such, or both."""

    id: MessageId | None = None
    text: Annotated[str, Meta(max_length=100_000)] = ""
    urls: Annotated[tuple[ListedUrl, ...], Meta(max_length=1_000)] = ()
    priority: Urgency = Urgency.NORMAL
    force: bool = False
    callback: Callback = ""


Submissions = Annotated[list[Submission], Meta(min_length=1, max_length=MOST_MESSAGES)]


class Outcome(StrEnum):
    """What became of a message."""

    ACCEPTED = "accepted"
    KNOWN = "known"  # it had come before, under the same id
    REFUSED = "refused"  # there was no room


class UnusableUrl(Struct, frozen=True):
    """A URL that was not taken, and why."""

    url: str
    why: str


class Receipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one message; ``entries`` are its URLs in canonical form, with the number of each."""

    id: str
    status: Outcome
    entries: Mapping[str, int]
    unusable: tuple[UnusableUrl, ...] = ()
    left_out: int = 0
    retry_after: float | None = None
    domain: str = ""


class Receipts(Struct, frozen=True):
    """What became of each message, in the order given."""

    messages: list[Receipt]


class LookupQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which URL is asked for, and for how long its record is waited for."""

    url: UrlText
    wait: Wait = "0s"


class Lookups(Struct, frozen=True, forbid_unknown_fields=True):
    """URLs to look up."""

    urls: Annotated[list[ListedUrl], Meta(min_length=1, max_length=MOST_URLS)]


class Absence(StrEnum):
    """Why there is no record."""

    PENDING = "pending"  # accepted, and not done yet
    UNKNOWN = "unknown"
    UNUSABLE = "unusable"  # no URL at all


class Missing(Struct, frozen=True):
    """A URL of which nothing is known."""

    url: str
    state: Absence


class Pending(Struct, frozen=True):
    """A URL that was accepted and is being worked on."""

    url: str
    state: Literal["pending"]


class Found(Struct, frozen=True):
    """What is known of each URL, in the order asked: a record, or its absence; ``state`` tells which."""

    results: list[UrlRecord]


class BodyForm(StrEnum):
    """How a fetched body is answered."""

    INLINE = "inline"  # as base64, free of its content coding
    REFERENCE = "reference"  # where it lies in the archive
    NONE = "none"


# Whole numbers are floats that are multiples of 1: JSON knows no other numbers, and 2.0 is as good as 2.
class FetchOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One URL to be fetched now, politely: the request waits for its domain's turn."""

    url: UrlText
    hops: Annotated[float, Meta(ge=0, le=10, multiple_of=1, description="Redirects to follow.")] = 0
    body: BodyForm = BodyForm.INLINE
    most: Annotated[
        float, Meta(ge=0, le=8 * 2**20, multiple_of=1, description="Bytes of the body to answer at most.")
    ] = 1 << 20
    priority: Urgency = Urgency.PERSON


class FetchHop(Struct, frozen=True):
    """A redirect that was followed."""

    url: str
    status: int


class FetchAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a fetch; ``headers`` as they came, ``body`` in base64 and without its content coding."""

    url: str
    outcome: Literal["fetched", "moved", "not_modified", "gone", "failed"]
    status: int | None = None
    headers: list[tuple[str, str]] = []
    body: bytes = b""
    length: int = 0
    truncated: bool = False
    archived: Archived | None = None
    target: str = ""
    reason: str = ""
    detail: str = ""
    hops: list[FetchHop] = []
    waited: float = 0.0
    seconds: float = 0.0


class StreamedEvent(Struct, frozen=True):
    """One event of the stream: ``data`` is JSON, an ``Event`` where ``event`` is ``url``, else ``{after, first}``."""

    id: Annotated[str, Meta(pattern="^[0-9]+$")]
    event: Literal["url", "gap"]
    data: str


class EventsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to begin: after this number; without it, and without Last-Event-ID, with what comes next."""

    after: Annotated[int, Meta(ge=0, le=2**62)] | None = None


class DomainChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What shall hold for a domain, in the place of what was set before; what is left out is as configured."""

    delay: Annotated[float, Meta(ge=0, le=86_400, description="Seconds between requests.")] | None = None
    concurrency: Annotated[float, Meta(ge=1, le=100, multiple_of=1)] | None = None
    blocked: bool = False
    note: Annotated[str, Meta(max_length=500)] = ""


class Health(Struct, frozen=True):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Statistics(Struct, frozen=True, kw_only=True):
    """The service in figures: ``counts`` since its start, ``gauges`` as they are now, ``stages`` in seconds."""

    uptime: float
    counts: Mapping[str, float]
    gauges: Mapping[str, float]
    stages: Mapping[str, StageTimes]


class StageTimes(Struct, frozen=True):
    """How long a stage took: how often, and the bounds that half and 99 of 100 stayed within."""

    count: int
    median: float | None
    p99: float | None
