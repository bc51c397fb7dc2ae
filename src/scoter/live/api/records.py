"""The records of the live service's HTTP API: what it accepts and what it returns.

The server and the client (``scoter.client``) share them. ``UrlRecord`` and ``Event``, which the API
also returns, are in ``scoter.live.records``. Keep this module cheap to import: it needs msgspec only.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from scoter.http.records import DURATION, ONE_LINE, Instant, UrlText

MAX_URLS: Final = 300
"""URLs in one lookup."""
MAX_MESSAGES: Final = 1_000
MAX_WAIT: Final = 30.0


Urgency: TypeAlias = Annotated[
    Literal["person", "normal", "bulk"], Meta(description="Who is waiting: a person, a program, or nobody.")
]
BodyForm: TypeAlias = Annotated[
    Literal["inline", "reference", "none"],
    Meta(
        description="How to return the body: inline as base64 with its content coding removed, as a reference into the"
        " archive, or not at all."
    ),
]


# One of several: an invalid URL is reported on its own, and the others are still accepted.
ListedUrl = Annotated[str, Meta(description="A URL, in any spelling.", extra_json_schema={"format": "url"})]
CallbackUrl = Annotated[
    str,
    Meta(
        max_length=2_000,
        description="An http or https URL at a public address that outcomes are posted to; empty for none.",
        extra_json_schema={"format": "callback"},
    ),
]
MessageId = Annotated[
    str, Meta(min_length=1, max_length=200, pattern=ONE_LINE, description="The sender's own ID for the message.")
]
WaitText = Annotated[str, Meta(pattern=DURATION, description="How long to wait, such as 5s; at most 30 s.")]


class Submission(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A message: text that contains links, a list of URLs, or both. With the same ID it counts once per tenant."""

    id: MessageId | None = None
    text: Annotated[str, Meta(max_length=100_000)] = ""
    urls: Annotated[tuple[ListedUrl, ...], Meta(max_length=1_000)] = ()
    priority: Urgency = "normal"
    force: bool = False
    callback: CallbackUrl = ""


# What the types cannot express.
SCHEMA_RULES: Final[Mapping[str, Any]] = {
    "Submission": {"not": {"properties": {"text": {"maxLength": 0}, "urls": {"maxItems": 0}}}}
}
Submissions = Annotated[list[Submission], Meta(min_length=1, max_length=MAX_MESSAGES)]


class Outcome(StrEnum):
    """What happened to a message."""

    ACCEPTED = "accepted"
    KNOWN = "known"  # submitted before with the same ID
    REFUSED = "refused"  # the queue is full
    CONFLICT = "conflict"  # its ID belongs to a message with other content


class UnusableUrl(Struct, frozen=True):
    """A URL that was rejected, and why."""

    url: str
    why: str


class Receipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What happened to one message; ``entries`` maps its URLs, in canonical form, to their entry numbers."""

    id: str
    status: Outcome
    entries: Mapping[str, int]
    unusable: tuple[UnusableUrl, ...] = ()
    left_out: int = 0
    retry_after: float | None = None
    domain: str = ""


class Receipts(Struct, frozen=True):
    """What happened to each message, in the order given."""

    messages: list[Receipt]


class LookupQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The URL to look up, and how long to wait for its record."""

    url: UrlText
    wait: WaitText = "0s"


class PreviewQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The URL to preview, how long to wait for it, and whether to ask the page's oEmbed endpoint as well."""

    url: UrlText
    wait: WaitText = "10s"
    priority: Urgency = "person"
    oembed: bool = False


class LookupBatch(Struct, frozen=True, forbid_unknown_fields=True):
    """URLs to look up."""

    urls: Annotated[list[ListedUrl], Meta(min_length=1, max_length=MAX_URLS)]


class Absence(StrEnum):
    """Why there is no record."""

    PENDING = "pending"  # accepted, not finished yet
    UNKNOWN = "unknown"
    UNUSABLE = "unusable"  # not a URL


class Missing(Struct, frozen=True):
    """A URL without a record."""

    url: str
    state: Absence


class PendingUrl(Struct, frozen=True):
    """A URL that was accepted and is not finished yet."""

    url: str
    state: Literal["pending"]


# Integers are floats that are multiples of 1: JSON has one number type, and 2.0 is as good as 2.
class FetchOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A URL to fetch now, within the rate limit of its domain."""

    url: UrlText
    hops: Annotated[float, Meta(ge=0, le=10, multiple_of=1, description="Redirects to follow.")] = 0
    body: BodyForm = "inline"
    most: Annotated[
        float, Meta(ge=0, le=8 * 2**20, multiple_of=1, description="Maximum bytes of the body to return.")
    ] = 1 << 20
    priority: Urgency = "person"


class FetchHop(Struct, frozen=True):
    """A redirect that was followed."""

    url: str
    status: int


class Archived(Struct, frozen=True):
    """The position of a response in the archive."""

    file: str
    offset: int
    length: int


class FetchAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a fetch; ``headers`` as received, ``body`` with its content coding removed."""

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
    """One event of the stream: ``data`` is JSON, an ``Event`` if ``event`` is ``url``, otherwise a ``Gap``."""

    id: Annotated[str, Meta(pattern="^[0-9]+$")]
    event: Literal["url", "gap"]
    data: str


class DomainRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What overrides the configuration for one registered domain; ``delay`` in seconds."""

    domain: str
    delay: float | None = None
    concurrency: int | None = None
    blocked: bool = False
    note: str = ""


class DeliveryInfo(Struct, frozen=True, kw_only=True):
    """A webhook delivery that was not received: why it failed last, and when it is tried again or was given up.

    ``callback`` is only the origin of the URL if the delivery is another tenant's.
    """

    id: str
    tenant: str = ""
    callback: str
    message: str
    url: str
    state: Literal["waiting", "retrying", "given-up"]
    tries: int
    why: str
    retry_in: float | None
    given_up: Instant | None


class DeliveryList(Struct, frozen=True):
    """Deliveries, newest first; those that were received are not kept."""

    deliveries: list[DeliveryInfo]


class DeliveriesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many deliveries to return."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100


class Resent(Struct, frozen=True):
    """A delivery that is sent again now."""

    id: str


class DomainList(Struct, frozen=True):
    """Domains with a rule, by name; ``next`` is the value of ``after`` for the next page."""

    domains: list[DomainRule]
    next: str | None = None


class DomainActivity(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the service does with a domain now.

    ``rate`` is the requests per minute of late, ``delay`` the seconds between requests as far as known. ``until`` is
    when the next request may be made, if that is later than now, and ``why`` the reason.
    """

    domain: str
    waiting: int
    active: int
    rate: float
    delay: float | None = None
    blocked: bool = False
    until: Instant | None = None
    why: str = ""


class ActivityList(Struct, frozen=True):
    """Domains that the service is busy with or holds back: paused ones first, then by requests per minute."""

    domains: list[DomainActivity]


class ActivityQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many domains to return."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 50


class DomainsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the rules to return."""

    after: Annotated[str, Meta(max_length=253)] = ""
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100


class DomainChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The new rule of a domain, replacing the previous one; omitted fields fall back to the configuration."""

    delay: Annotated[float, Meta(ge=0, le=86_400, description="Seconds between requests.")] | None = None
    concurrency: Annotated[float, Meta(ge=1, le=100, multiple_of=1)] | None = None
    blocked: bool = False
    note: Annotated[str, Meta(max_length=500)] = ""


class StageTimes(Struct, frozen=True):
    """How often a stage ran, and upper bounds in seconds for the median and the 99th percentile."""

    count: int
    median: float | None
    p99: float | None


class HistoryPoint(Struct, frozen=True, kw_only=True):
    """What happened in an interval that ended at ``time``: changes of counts, gauges at its end, times by stage.

    Counts and gauges that are 0 are omitted.
    """

    time: Instant
    seconds: float
    counts: Mapping[str, float]
    gauges: Mapping[str, float]
    stages: Mapping[str, StageTimes]


class History(Struct, frozen=True):
    """The statistics of the last hour, oldest first, every 10 seconds."""

    points: list[HistoryPoint]


class HistoryQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The time after which to start; all points if omitted."""

    after: Instant | None = None


class Statistics(Struct, frozen=True, kw_only=True):
    """Statistics of the service: ``counts`` since its start, current ``gauges``, and times by stage."""

    uptime: float
    counts: Mapping[str, float]
    gauges: Mapping[str, float]
    stages: Mapping[str, StageTimes]
