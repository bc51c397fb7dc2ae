"""Archives responses, builds the record, stores and announces it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from scoter.config.sections.live import LiveSettings
from scoter.core.reply import Failed, Fetched, Gone, Moved, NotModified, Reason, Reply
from scoter.errors import Defect
from scoter.live.pipeline.context import Context
from scoter.live.pipeline.lookup import FreshRecords
from scoter.live.pipeline.retries import is_retried, retry_delay
from scoter.live.ports import (
    ContentStore,
    OutcomeRecorder,
    RedirectHandover,
    RedirectHandovers,
    StoredRecord,
    UrlOutcome,
)
from scoter.live.records import ContentKind, ContentSummary, StaleReason, State, UrlRecord


class ArchiveResponses:
    """Archives the exchanges of the page and then of its image, except those that forbid it."""

    def __init__(self, content: ContentStore) -> None:
        self._content = content

    async def __call__(self, context: Context) -> Context:
        exchanges = [
            exchange
            for exchange in (*context.exchanges, *context.related_exchanges)
            if exchange.url.text not in context.withheld
        ]
        if not exchanges:
            return context
        places = await self._content.keep(exchanges, message=context.entry.message, fetch=context.fetch)
        # A chain requests each URL once, so the URL identifies the exchange.
        kept = {exchange.url.text: place for exchange, place in zip(exchanges, places, strict=True)}
        related = context.related
        if related is not None and related.state is State.OK and context.related_exchanges:
            related = replace(related, archived=kept.get(context.related_exchanges[-1].url.text))
        return replace(
            context, archived=tuple(kept.get(exchange.url.text) for exchange in context.exchanges), related=related
        )


_encoder = msgspec.json.Encoder()
_DENIED = frozenset({Reason.ROBOTS_DENIED, Reason.CRAWL_DELAY})
_REFUSED = frozenset({Reason.REFUSED_ADDRESS, Reason.REFUSED_PORT, Reason.REFUSED_SCHEME})
_CHALLENGED = frozenset({Reason.CHALLENGE, Reason.WALL})
_DETAIL = 300
_READABLE_FOR = timedelta(minutes=1)  # the least time that clients have to read a failure
_UNREAD = ContentSummary(media_type="", kind=ContentKind.OTHER, size=0)
PASSING_STATES = frozenset({State.FAILED, State.CHALLENGED})
"""The states after which the last good record of a URL is still shown."""
REDIRECTS = "redirects"
"""The reason of a redirect chain that is too long, a loop, or without a target."""


class BuildRecord:
    """Builds the record of a URL, and the rows to store for each URL of its chain.

    A record is stored only under URLs that were requested. What a page calls its canonical URL is part of the record,
    but sets nothing for that URL: any page of a site could otherwise provide the preview of its login page.
    """

    def __init__(self, live: LiveSettings, fresh: FreshRecords, clock: Callable[[], datetime]) -> None:
        self._live = live
        self._fresh = fresh
        self._clock = clock

    async def __call__(self, context: Context) -> Context:
        if context.continues is not None:  # another process builds it
            return context
        if context.onward is not None:
            # This fetch made only the first hops; the content comes from the stored record.
            hops = (*context.hops, *context.onward.hops)
            record = replace(context.onward, url=context.url.text, hops=hops)
        else:
            record = await self._with_retry(context, self._record(context))
        own = context.hops[:1] if context.is_truncated else context.hops
        found = [replace(record, url=hop.url, hops=record.hops[at:]) for at, hop in enumerate(own)]
        rows = {each.url: self._stored(await self._or_last_good(each)) for each in found}
        return replace(context, record=await self._or_last_good(record), rows=tuple(rows.values()))

    def _record(self, context: Context) -> UrlRecord:
        reply, read = context.reply, context.read or _UNREAD
        if reply is None:
            raise Defect(f"{context.url.text} was never asked for")
        exchange = reply.exchange
        state = state_of(reply)
        reason, detail = _why(reply)
        at = context.arrived or self._clock()  # not now: the image may have taken long
        return UrlRecord(
            url=context.url.text,
            resolved=reply.url.text,
            state=state,
            fetch=context.fetch,
            fetched_at=at,
            expires_at=at + self._lives(reply),
            status=None if exchange is None else exchange.status,
            reason=reason or ("unread" if read.problem else ""),
            detail=detail or read.problem,
            hops=context.hops,
            kind=read.kind,
            content_type=read.media_type,
            length=0 if exchange is None else len(exchange.body),
            truncated=read.truncated,
            metadata=read.about,
            related=context.related,
            # If the last hop has no exchange, the last archived one is a redirect.
            archived=context.archived[-1] if context.archived and exchange is not None else None,
        )

    async def _with_retry(self, context: Context, record: UrlRecord) -> UrlRecord:
        """Return a record with the time of the next retry, if its failure may pass."""
        reply = context.reply
        if reply is None or not is_retried(reply):
            return record
        before = await self._fresh.failures(record.url)
        delay = retry_delay(reply, before, self._live.retry_delays)
        if delay is None:
            return replace(record, failures=before + 1)
        retry_at = record.fetched_at + delay
        # It is shown until the retry has ended, which may have to wait.
        expires = retry_at + self._live.failed_for
        return replace(record, failures=before + 1, retry_at=retry_at, expires_at=expires)

    def _lives(self, reply: Reply) -> timedelta:
        """Return how long a record is valid: as long as the server asked us to wait, if it did."""
        if isinstance(reply, Fetched):
            return self._live.known_for
        if isinstance(reply, Failed) and reply.retry_after is not None:
            return max(reply.retry_after, _READABLE_FOR)
        return self._live.failed_for

    async def _or_last_good(self, record: UrlRecord) -> UrlRecord:
        """Return the record or, if it says that a fetch failed, the last good one of its URL, marked as stale."""
        good = await self._fresh.last_good(record.url) if record.state in PASSING_STATES else None
        if good is None:
            return record
        stale = StaleReason(
            reason=record.reason,
            detail=record.detail,
            status=record.status,
            failed_at=record.fetched_at,
            retry_at=record.retry_at or record.expires_at,
            failures=record.failures,
        )
        # Further failures do not extend its life.
        expires = good.expires_at + (self._live.stale_for if good.stale is None else timedelta())
        return replace(good, stale=stale, expires_at=expires, retry_at=record.retry_at)

    def _stored(self, record: UrlRecord) -> StoredRecord:
        is_good = record.state is State.OK and record.stale is None
        return StoredRecord(
            url=record.url,
            value=_encoder.encode(record),
            fetched_at=record.attempted_at,
            expires_at=record.expires_at,
            stale_for=self._live.stale_for if is_good else timedelta(),
        )


def state_of(reply: Reply) -> State:
    """Return the state of a URL whose chain ends with this reply."""
    if isinstance(reply, Fetched):
        return State.OK
    if isinstance(reply, Gone):
        return State.DENIED if reply.reason in _DENIED else State.GONE
    if isinstance(reply, Failed) and reply.reason in _REFUSED:
        return State.REFUSED
    if isinstance(reply, Failed) and reply.reason in _CHALLENGED:
        return State.CHALLENGED
    return State.FAILED


def _why(reply: Reply) -> tuple[str, str]:
    if isinstance(reply, Gone | Failed):
        return reply.reason.value, reply.detail
    if isinstance(reply, Moved):
        return REDIRECTS, "it does not say where" if reply.target is None else f"on to {reply.target.text[:_DETAIL]}"
    if isinstance(reply, NotModified):
        return Reason.OTHER_STATUS.value, "not modified, said of what was not asked about"
    return "", ""


class RecordOutcome:
    """Stores and announces the outcome of a URL."""

    def __init__(self, reader: str, outcomes: OutcomeRecorder, handovers: RedirectHandovers | None = None) -> None:
        self._reader = reader
        self._outcomes = outcomes
        self._handovers = handovers

    async def __call__(self, context: Context) -> Context:
        if context.continues is not None and self._handovers is not None:
            handover = RedirectHandover(entry=context.entry, hops=context.hops, target=context.continues)
            return replace(context, is_recorded=await self._handovers.hand_over(self._reader, handover))
        if context.record is None:
            raise Defect(f"{context.url.text} ended without a record")
        done = UrlOutcome(entry=context.entry, record=context.record, rows=context.rows)
        (event,) = await self._outcomes.record(self._reader, [done])
        # Without an event the lease was lost, and another reader will record the outcome.
        return replace(context, is_recorded=event is not None)
