"""The records that both HTTP APIs accept and return: problems, API keys, sessions, positions in event streams.

The records of each API are in ``live.api.records`` and ``batch.api.records``. The clients use all three, so keep them
cheap to import: they need msgspec only.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

LONGEST_URL: Final = 8_192
LONGEST_KEY_NAME: Final = 200

ONE_LINE: Final = r"^[^\x00-\x1f\x7f]+(?![\s\S])"
TENANT: Final = r"^([a-z0-9][a-z0-9_-]{0,62})?(?![\s\S])"
DURATION: Final = r"^[0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m)?(?![\s\S])"
PATTERN_MESSAGES: Final = {
    ONE_LINE: "Expected a single line of text without control characters",
    TENANT: "Expected lower-case letters, digits, hyphens and underscores, at most 63",
    DURATION: "Expected a duration such as 500ms, 5s or 1m",
}
"""The error messages for texts that do not match a pattern."""

KeyScope: TypeAlias = Literal["read", "submit", "admin"]
"""What an API key allows; ``admin`` includes the others."""

Instant: TypeAlias = Annotated[datetime, Meta(extra_json_schema={"format": "date-time"})]
"""A point in time, always with its time zone."""

# The formats are our own names: a schema cannot express what a WHATWG URL is, or which URLs may receive callbacks.
UrlText = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LONGEST_URL,
        description="A URL, in any spelling.",
        extra_json_schema={"format": "url"},
    ),
]


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong, where, and when to retry (RFC 9457).

    ``where`` is the JSON pointer of a field of the body, or a question mark and the name of a parameter. ``accepted``
    lists the values that are accepted there, or the names of the fields.
    """

    type: str
    title: str
    status: int
    detail: str = ""
    where: str = ""
    accepted: tuple[str, ...] = ()
    retry_after: float | None = None
    domain: str = ""


class KeyOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An API key to create; ``rate`` is in requests per second, unlimited if omitted."""

    name: Annotated[
        str, Meta(min_length=1, max_length=LONGEST_KEY_NAME, pattern=ONE_LINE, description="Who uses the key.")
    ]
    scopes: Annotated[tuple[KeyScope, ...], Meta(min_length=1, max_length=3)]
    rate: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    tenant: Annotated[str, Meta(pattern=TENANT, description="Whose messages, events and deliveries the key sees.")] = ""


class KeyInfo(Struct, frozen=True, kw_only=True):
    """An API key without its token; ``rate`` in requests per second, ``None`` if unlimited."""

    id: str
    name: str
    scopes: tuple[str, ...]
    rate: float | None
    created: Instant
    last_used: Instant | None
    tenant: str = ""


class NewKey(KeyInfo, frozen=True, kw_only=True):
    """A new API key with its token, which is shown only once."""

    token: str


class KeyList(Struct, frozen=True):
    """All API keys, oldest first."""

    keys: list[KeyInfo]


class SessionInfo(Struct, frozen=True, kw_only=True):
    """Who is logged in: the name and scopes of the key, and when the session ends."""

    name: str
    scopes: tuple[str, ...]
    expires: Instant | None
    needs_key: bool


class Health(Struct, frozen=True):
    """The process responds."""

    status: Literal["ok"] = "ok"


class EventsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to start: after this event number. Without it and without Last-Event-ID, at the next new event."""

    after: Annotated[int, Meta(ge=0, le=2**62)] | None = None


class Gap(Struct, frozen=True):
    """Events after ``after`` are no longer kept; the stream continues with ``first``."""

    after: int
    first: int
