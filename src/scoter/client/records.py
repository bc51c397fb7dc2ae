"""What the API takes and gives, as a client sees it: what a newer service adds is passed over."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct

from scoter.api import Archived

Urgency: TypeAlias = Literal["person", "normal", "bulk"]
"""Who waits: a person, a program, or nobody."""

BodyForm: TypeAlias = Literal["inline", "reference", "none"]
"""How a fetched body is answered: in the answer, as a place in the archive, or not at all."""


KeyScope: TypeAlias = Literal["read", "submit", "admin"]
"""What a key is good for; ``admin`` includes the others."""


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong, as the service tells it (RFC 9457); ``status`` 0 when there was no answer."""

    type: str = "about:blank"
    title: str = ""
    status: int = 0
    detail: str = ""
    where: str = ""
    retry_after: float | None = None
    domain: str = ""


class Submission(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message: a text with links in it, or URLs as such, or both. One that comes twice under one id is one."""

    id: str = ""
    text: str = ""
    urls: tuple[str, ...] = ()
    priority: Urgency = "normal"
    force: bool = False
    callback: str = ""


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


class Absence(StrEnum):
    """Why there is no record."""

    PENDING = "pending"  # accepted, and not done yet
    UNKNOWN = "unknown"
    UNUSABLE = "unusable"  # no URL at all


class Missing(Struct, frozen=True):
    """A URL of which nothing is known."""

    url: str
    state: Absence


class FetchHop(Struct, frozen=True):
    """A redirect that was followed."""

    url: str
    status: int


class FetchAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a direct fetch; ``body`` is free of its content coding."""

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


class DomainRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What holds for one registered domain beyond the service's configuration; ``delay`` in seconds."""

    domain: str
    delay: float | None = None
    concurrency: int | None = None
    blocked: bool = False
    note: str = ""


class ApiKey(Struct, frozen=True, kw_only=True):
    """Who may come in, and for what; ``rate`` in requests a second, none where there is no limit."""

    id: str
    name: str
    scopes: tuple[str, ...]
    rate: float | None
    created: datetime
    last_used: datetime | None


class NewKey(ApiKey, frozen=True, kw_only=True):
    """A key that was made just now. Nobody can ask for its token again."""

    token: str


class StageTimes(Struct, frozen=True):
    """How long a stage took: how often, and the seconds that half and 99 of 100 stayed within."""

    count: int
    median: float | None
    p99: float | None


class Statistics(Struct, frozen=True, kw_only=True):
    """The service in figures: ``counts`` since its start, ``gauges`` as they are now, ``stages`` in seconds."""

    uptime: float
    counts: Mapping[str, float]
    gauges: Mapping[str, float]
    stages: Mapping[str, StageTimes]


class Gap(Struct, frozen=True):
    """Events after ``after`` are no longer kept; the stream goes on with ``first``."""

    after: int
    first: int
