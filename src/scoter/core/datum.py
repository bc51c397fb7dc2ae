"""The crawl datum: what is known about one URL, and every status it can have.

Codes and names are Nutch's. A ``DbStatus`` is the state of a URL in the crawldb, a ``FetchStatus`` the result of one
fetch. A ``PartStatus`` marks the other records that an update combines.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, TypeAlias

from msgspec import Struct

from scoter.core.page import EMPTY

GENERATE_MARK = "_ngt_"
"""Metadata key that marks a generated URL until its update."""
FIXED_INTERVAL = "fixedInterval"
"""Metadata key of a fetch interval, in seconds, that schedules do not change."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)


class DbStatus(Enum):
    """The state of a URL in the crawldb."""

    UNFETCHED = 0x01
    FETCHED = 0x02
    GONE = 0x03
    REDIR_TEMP = 0x04
    REDIR_PERM = 0x05
    NOTMODIFIED = 0x06
    DUPLICATE = 0x07
    ORPHAN = 0x08
    PARSE_FAILED = 0x09


class FetchStatus(Enum):
    """The result of one fetch."""

    SUCCESS = 0x21
    RETRY = 0x22
    REDIR_TEMP = 0x23
    REDIR_PERM = 0x24
    GONE = 0x25
    NOTMODIFIED = 0x26


class PartStatus(Enum):
    """The other records that an update combines."""

    SIGNATURE = 0x41
    INJECTED = 0x42
    LINKED = 0x43
    PARSE_META = 0x44
    PARSE_FAILED = 0x45


Status: TypeAlias = DbStatus | FetchStatus | PartStatus


def short_name(status: Status) -> str:
    """Return the name that tables use.

    >>> short_name(DbStatus.REDIR_TEMP)
    'redir_temp'
    """
    return status.name.lower()


class CrawlDatum(Struct, frozen=True, kw_only=True):
    """What is known about one URL.

    ``extra`` holds the columns that plug-ins declare; ``interval`` is in whole seconds in every store.
    """

    status: Status
    fetch_time: datetime = EPOCH
    modified_time: datetime | None = None
    retries: int = 0
    interval: timedelta = timedelta(0)
    score: float = 0.0
    signature: bytes | None = None
    metadata: Mapping[str, str] = EMPTY
    extra: Mapping[str, Any] = EMPTY


def later(moment: datetime, by: timedelta) -> datetime:
    """Return ``moment + by``, clamped to the range of ``datetime``.

    >>> later(EPOCH, timedelta(days=1)).isoformat(), later(EPOCH, timedelta.max).year
    ('1970-01-02T00:00:00+00:00', 9999)
    """
    try:
        return moment + by
    except OverflowError:
        return _LAST_MOMENT if by > timedelta(0) else datetime.min.replace(tzinfo=UTC)
