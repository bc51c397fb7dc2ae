"""One URL on its way through the pipeline: a frozen record, a new one per stage."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.page import Content, Page
from scoter.core.reply import Exchange, Reply
from scoter.core.url import Url
from scoter.live.ports import Entry, Stored
from scoter.live.records import Archived, Hop, Related, UrlRecord


class Context(Struct, frozen=True, kw_only=True):
    """What is known of a URL so far.

    ``fetch`` names this fetch; ``timings`` are the seconds that each stage took, in their order; ``waited`` those in
    which only its domains' turns were waited for, and ``remote`` those in which only its servers were.
    """

    entry: Entry
    url: Url
    fetch: str
    hops: tuple[Hop, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    reply: Reply | None = None
    content: Content | None = None
    page: Page | None = None
    doubt: str = ""
    related: Related | None = None
    related_exchanges: tuple[Exchange, ...] = ()
    archived: Sequence[Archived | None] = ()
    record: UrlRecord | None = None
    rows: tuple[Stored, ...] = ()
    is_recorded: bool = False
    waited: float = 0.0
    remote: float = 0.0
    timings: tuple[tuple[str, float], ...] = ()

    def timed(self, stage: str, seconds: float) -> Context:
        """Return this with one more timing."""
        return replace(self, timings=(*self.timings, (stage, seconds)))
