"""One URL on its way through the pipeline: a frozen record, a new one per stage."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from scoter.api import Archived
from scoter.core.reply import Exchange, Reply
from scoter.core.url import Url
from scoter.live.ports import JournalEntry, StoredRecord
from scoter.live.records import ContentSummary, Hop, Related, UrlRecord


class OutcomeSource(StrEnum):
    """Where a record comes from."""

    FETCHED = "fetched"
    KNOWN = "known"  # from the store
    JOINED = "joined"  # from the fetch of another message's URL, which was under way


class Context(Struct, frozen=True, kw_only=True):
    """What is known of a URL so far.

    ``fetch`` names this fetch, if there is one: a record that was known or joined has another's. ``is_cut`` tells that
    there were more redirects than are followed; ``onward`` is what was known of the URL to which the last hop leads,
    ``read`` what the last answer holds, if it was one to be read, and ``came`` when that answer came.
    ``withheld`` are the URLs whose answers are not to be archived. ``timings`` are the seconds that each stage took, in
    their order; ``waited`` those in which only others were waited for (its domains' turns, a hop that another chain
    makes), and ``remote`` those in which only its servers were. ``is_recorded`` is false at the end for one whose entry
    was somebody else's by then.
    """

    entry: JournalEntry
    url: Url
    fetch: str
    hops: tuple[Hop, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    reply: Reply | None = None
    is_cut: bool = False
    onward: UrlRecord | None = None
    read: ContentSummary | None = None
    came: datetime | None = None
    related: Related | None = None
    related_exchanges: tuple[Exchange, ...] = ()
    withheld: frozenset[str] = frozenset()
    archived: Sequence[Archived | None] = ()
    record: UrlRecord | None = None
    rows: tuple[StoredRecord, ...] = ()
    source: OutcomeSource = OutcomeSource.FETCHED
    is_recorded: bool = False
    waited: float = 0.0
    remote: float = 0.0
    timings: tuple[tuple[str, float], ...] = ()

    def timed(self, stage: str, seconds: float) -> Context:
        """Return this with one more timing."""
        return replace(self, timings=(*self.timings, (stage, seconds)))
