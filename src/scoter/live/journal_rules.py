"""Who is next in a journal, when an entry has been tried often enough, how much is kept: the same in every twin."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

from scoter.core.domain import registered_domain
from scoter.core.url import canonical
from scoter.errors import UrlError
from scoter.live.ports import JournalEntry
from scoter.live.records import State, UrlRecord

PATIENCE: Final = timedelta(seconds=60)
MOST_TRIES: Final = 20
WINDOW: Final = 100
MOST_MESSAGES: Final = 2_000_000
MOST_GIVEN_UP: Final = 10_000
GIVEN_UP: Final = "given_up"
_SHARE: Final = 8
_GIVEN_UP_FOR: Final = timedelta(hours=1)


class AgedEntryShare:
    """Lets what is less urgent through now and then.

    The most urgent goes first, always; only, of every eight entries that are lent, one may be of a lower priority that
    has waited longer than ``patience``. Were priority to grow with age alone, an hour's backlog of bulk would stand
    before the person who comes now; so it has a share, however old it is.
    """

    def __init__(self, patience: timedelta = PATIENCE) -> None:
        self.patience = patience
        self._credit = 0

    def for_the_patient(self, most: int) -> int:
        """Return how many of the next ``most`` entries may go to those who have waited longest."""
        self._credit += most
        turns, self._credit = divmod(self._credit, _SHARE)
        return turns


def failed_record(entry: JournalEntry, now: datetime) -> UrlRecord:
    """Return what is told of a URL whose readers all went away, or failed, without an outcome."""
    return UrlRecord(
        url=entry.url,
        resolved=entry.url,
        state=State.FAILED,
        fetch=uuid4().hex,
        fetched_at=now,
        expires_at=now + _GIVEN_UP_FOR,
        reason=GIVEN_UP,
        detail=f"opened {entry.tries} times without an outcome",
    )


def domain_of(url: str) -> str:
    """Return the registered domain of a URL, whose backlog it counts for."""
    try:
        return registered_domain(canonical(url).host)
    except UrlError:  # no domain's backlog then; its entry ends as what it is
        return ""
