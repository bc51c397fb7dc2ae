"""One URL on its way through the pipeline: a frozen record, a new one per stage."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.reply import Exchange, Reply
from scoter.core.url import Url
from scoter.live.api.records import Archived
from scoter.live.ports import JournalEntry, StoredRecord
from scoter.live.records import ContentSummary, Hop, Related, UrlRecord


class OutcomeSource(StrEnum):
    """Where a record comes from."""

    FETCHED = "fetched"
    KNOWN = "known"  # from the store
    JOINED = "joined"  # from the fetch of another message's URL, which was under way


class Context(Struct, frozen=True, kw_only=True):
    """The state of one URL between stages.

    - ``fetch``: the id of this fetch; a record from the store or from a joined fetch has another
    - ``is_truncated``: the redirect chain was longer than the limit
    - ``continues``: the URL at which another process continues, which is responsible for its domain
    - ``onward``: the stored record of the URL that the last hop leads to
    - ``read``, ``arrived``: the content of the last response, if parsed; when that response arrived
    - ``withheld``: URLs whose responses must not be archived
    - ``timings``: the seconds of each stage, in order
    - ``waited``: seconds spent waiting for slots of domains, or for a hop of another chain
    - ``remote``: seconds spent waiting for servers
    - ``is_recorded``: false at the end if the lease of the entry was lost
    """

    entry: JournalEntry
    url: Url
    fetch: str
    hops: tuple[Hop, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    reply: Reply | None = None
    is_truncated: bool = False
    continues: Url | None = None
    onward: UrlRecord | None = None
    read: ContentSummary | None = None
    arrived: datetime | None = None
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
        """Return a copy with one more timing."""
        return replace(self, timings=(*self.timings, (stage, seconds)))
