"""Rules of the journal that do not depend on its storage: order, tries and limits."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

from scoter.core.domain import registered_domain
from scoter.core.url import stored_url
from scoter.errors import UrlError
from scoter.live.ports import JournalEntry
from scoter.live.records import Message, State, UrlRecord

MOST_GIVEN_UP: Final = 10_000
GIVEN_UP: Final = "given_up"
_SHARE: Final = 8
_GIVEN_UP_FOR: Final = timedelta(hours=1)


class AgedEntryShare:
    """Reserves one in eight entries for lower priorities that have waited longer than ``patience``.

    All others go by priority. If priority grew with age instead, an hour of bulk backlog would delay a person who
    submits a URL now.
    """

    def __init__(self, patience: timedelta) -> None:
        self.patience = patience
        self._credit = 0

    def reserved(self, most: int) -> int:
        """Return how many of the next ``most`` entries are reserved for those that have waited longest."""
        self._credit += most
        turns, self._credit = divmod(self._credit, _SHARE)
        return turns


def failed_record(entry: JournalEntry, now: datetime, *, crashes: int = 0) -> UrlRecord:
    """Return the record of a URL that was opened too often without an outcome, or that killed too many processes."""
    detail = f"opened {entry.tries} times without an outcome"
    if crashes:
        detail = f"{crashes} processes ended while they handled it alone"
    return UrlRecord(
        url=entry.url,
        resolved=entry.url,
        state=State.FAILED,
        fetch=uuid4().hex,
        fetched_at=now,
        expires_at=now + _GIVEN_UP_FOR,
        reason=GIVEN_UP,
        detail=detail,
    )


def is_conflict(message: Message, known: bytes) -> bool:
    """Return whether a message differs from the known one with its id, whose digest is given.

    Messages without a digest are from an older version, or were moved from elsewhere: their content is unknown.
    """
    return bool(message.digest and known and message.digest != known)


def domain_of(url: str) -> str:
    """Return the registered domain of a stored URL, or an empty string if the URL is invalid."""
    try:
        return registered_domain(stored_url(url).host)
    except UrlError:  # it belongs to no backlog; the scheduler reports it
        return ""
