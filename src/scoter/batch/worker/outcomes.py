"""From a reply to its rows, and to the requests that follow from it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import xxhash
from msgspec.structs import replace

from scoter.batch.crawldir.schemas import DEFERRED
from scoter.batch.fetchlists.lists import to_micros
from scoter.batch.urls.refusals import REFUSED, TRUNCATED, refusal_marks
from scoter.batch.worker.pages import PageProcessor
from scoter.batch.worker.records import (
    ARCHIVED,
    VALIDATORS,
    PageRows,
    RequestContext,
    archived_as,
    decode_context,
    encode_context,
)
from scoter.batch.worker.segment_part import FetchPart
from scoter.config import Config
from scoter.core.datum import short_name
from scoter.core.page import Content
from scoter.core.reply import (
    Failed,
    Fetched,
    Gone,
    Moved,
    NotModified,
    Reason,
    Reply,
    Request,
    Truncation,
    fetch_status,
    sets_cookie_for_itself,
)
from scoter.core.schedule import MEDIA_TYPE
from scoter.core.url import Url
from scoter.fetch.decode import DecodedBody
from scoter.store.warc import Location

# The crawldb record of a URL that was never requested stays unchanged and due.
_NOT_REQUESTED = frozenset({Reason.STOPPED, Reason.PURGED, Reason.DEFERRED})
_LONGEST_HEADER = 200
# A copy that a fault truncated gets no validators, so that the next fetch replaces it.
_REPRODUCIBLE = frozenset({Truncation.NOT, Truncation.LENGTH})
RESPONSE_TIME = "_rs_"
"""Metadata key of the last response time in milliseconds; Nutch's name."""


class _Outcome:
    """A reply and what is derived from it on the way to its row."""

    def __init__(self, request: Request, reply: Reply) -> None:
        self.request = request
        self.reply = reply
        self.not_requested = reply.reason.value if isinstance(reply, Failed) and reply.reason in _NOT_REQUESTED else ""
        self.known = decode_context(request.context)
        self.decoded: DecodedBody | None = None
        self.place: Location | None = None
        self.signature: bytes | None = None
        self.pages: Sequence[PageRows] = ()


class OutcomeWriter:
    """Writes the outcome of each request."""

    def __init__(
        self,
        config: Config,
        extra: Sequence[str],
        *,
        part: Callable[[], FetchPart],
        pages: PageProcessor,
        parses: bool,
        belongs: Callable[[Url], bool],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """``part`` returns the open part; ``belongs`` whether this worker may fetch a URL."""
        self._fetch = fetch = config.fetch
        self.add: Callable[..., Any] = lambda request, **how: None
        self.not_requested: Counter[str] = Counter()
        self._part = part
        self._pages = pages
        self._parses = parses
        self._belongs = belongs
        self._clock = clock
        self._extra = tuple(extra)
        self._interval = int(config.db.fetch_interval_default.total_seconds())
        self._keeps_type = config.db.schedule == "mime-adaptive"
        self._depth = fetch.follow_outlinks_depth if parses else None
        self._recent = RecentUrls(max(fetch.redirect_dedupcache_size, 100_000 if self._depth else 0))
        age = fetch.redirect_dedupcache_age
        self._recent_within = None if age is None else age.total_seconds()
        self._notes_time = config.http.store_responsetime
        self._marks = refusal_marks(config)
        self._keeps_cookies = config.http.keep_cookies

    def take(self, replies: Sequence[tuple[Request, Reply]]) -> Sequence[Awaitable[None] | None]:
        """Write replies, one step at a time for all of them; await the results for pages parsed in another process."""
        got = [_Outcome(request, reply) for request, reply in replies]
        for each in got:
            self._decode(each)
            self._archive(each)
        unread = [self._read(each) for each in got]
        left: list[Awaitable[None] | None] = []
        for each, content in zip(got, unread, strict=True):
            if content is None:
                self._write(each)
            left.append(None if content is None else self._read_apart(each, content))
        return left

    def _decode(self, got: _Outcome) -> None:
        """Decode a page. Only this shows a damaged content coding, which its row and its archive record must tell."""
        reply = got.reply
        if isinstance(reply, Fetched):
            exchange = reply.exchange
            got.decoded = self._pages.decoded(exchange.headers, exchange.body)
            if got.decoded.truncation is Truncation.UNSPECIFIED and not exchange.truncation:
                got.reply = Fetched(replace(exchange, truncation=Truncation.UNSPECIFIED))

    def _archive(self, got: _Outcome) -> None:
        exchange = got.reply.exchange
        # Protocols other than HTTP have no response head: archive their content, but not "unchanged" replies.
        if exchange is not None and (exchange.response_head or isinstance(got.reply, Fetched)):
            earlier = got.known.copy(got.request.url) if isinstance(got.reply, NotModified) else None
            got.place = self._part().archive(exchange, earlier)

    def _read(self, got: _Outcome) -> Content | None:
        """Parse the page, if there is one; return its content if it must be parsed in another process."""
        reply, plain, got.decoded = got.reply, got.decoded, None
        if not isinstance(reply, Fetched) or plain is None or not (self._parses or self._fetch.signature):
            return None
        datum, exchange = got.known.datum(), reply.exchange
        content = self._pages.content(got.request.url, datum, exchange.headers, plain, exchange.truncation)
        if not self._parses:
            got.signature = self._pages.sign(content, "")
            return None
        rows = self._pages.rows_in_place(datum, content)
        if rows is None:
            return content
        got.pages = rows
        return None

    async def _read_apart(self, got: _Outcome, content: Content) -> None:
        got.pages = await self._pages.rows(got.known.datum(), content, apart=True)
        self._write(got)

    def _write(self, got: _Outcome) -> None:
        """Write the outcome of a request and queue the requests that follow from it."""
        request, reply, known = got.request, got.reply, got.known
        if got.not_requested:
            self.not_requested[got.not_requested] += 1
            # The others have no row, so that a fetch that goes on requests them.
            if got.not_requested == Reason.DEFERRED:
                self._add_row(self._part(), got, None)
            return
        if isinstance(reply, Moved) and self._repeats_with_cookie(request, reply, known):
            return  # only the answer to that request says anything about the page
        target = self._target(request.url, reply, known) if isinstance(reply, Moved) else None
        # A new part may have been started since the reply was archived. Its row is then in a later part than its
        # archive record, which is harmless: the earlier part is finished first.
        shown = None
        if isinstance(target, Url) and isinstance(reply, Moved):
            shown = known.representative(request.url, target, permanent=reply.permanent)
        self._add_row(self._part(), got, target, shown)
        if isinstance(target, Url):
            self._follow_redirect(request.url, target, shown, known)
        if self._depth is not None and got.pages:
            self._follow_links(request.url, known, got.pages[0])

    def _add_row(
        self, part: FetchPart, got: _Outcome, target: Url | str | None, represented_by: str | None = None
    ) -> None:
        reply, known, place = got.reply, got.known, got.place
        exchange, url = reply.exchange, got.request.url
        reason, detail = _why(reply, target)
        to = target if isinstance(target, Url) else None
        part.fetches.add(
            (
                url.text,
                url.key,
                url.host,
                DEFERRED if got.not_requested else short_name(fetch_status(reply)),
                to_micros(self._clock() if exchange is None else exchange.started),
                known.modified,
                known.retries,
                known.interval,
                # The score of a followed link is in the link's own row; it must not count twice.
                0.0 if known.steps else known.score,
                got.signature,
                self._metadata(got),
                None if exchange is None else exchange.status,
                reason,
                detail,
                None if to is None else to.text,
                None if to is None else to.key,
                None if to is None else to.host,
                None if exchange is None else exchange.header("content-type") or None,
                None if exchange is None else len(exchange.body),
                None if exchange is None or not exchange.truncation else exchange.truncation.value,
                None if place is None else place.file,
                None if place is None else place.offset,
                None if place is None else place.length,
                None if exchange is None else round(exchange.timings.total * 1000),
                None if exchange is None else exchange.peer or None,
                represented_by,
                None if exchange is None else exchange.header("server")[:_LONGEST_HEADER] or None,
                None if exchange is None else exchange.tls_version or None,
                *((known.extra or {}).get(name) for name in self._extra),
            )
        )
        part.rows += 1
        if part.parsed is not None:
            for page in got.pages:
                part.parsed.add(page)

    def _metadata(self, got: _Outcome) -> list[tuple[str, str]] | None:
        """Return the metadata of the URL: the known entries, and what the next fetch needs."""
        known, reply = got.known, got.reply
        kept = dict(known.metadata or {})
        self._mark_refusal(kept, got)
        if self._notes_time and reply.exchange is not None:
            kept[RESPONSE_TIME] = str(round(reply.exchange.timings.total * 1000))
        if not isinstance(reply, Fetched):
            return list(kept.items()) or None
        said = {name: self._validator(reply, name) for name in VALIDATORS}
        copy = None if got.place is None else got.place.copy
        said[ARCHIVED] = archived_as(copy, got.request.url) if copy is not None and any(said.values()) else ""
        for name, value in said.items():
            if value:
                kept[name] = value
            elif name in kept or known.hops or known.steps:
                # An old validator, which only the crawldb may have if this URL was not in the fetch list, must not be
                # used for the new page. Updates merge metadata, so it becomes an empty text.
                kept[name] = ""
        if self._keeps_type and (media_type := reply.exchange.header("content-type")):
            kept[MEDIA_TYPE] = media_type[:_LONGEST_HEADER]
        return list(kept.items()) or None

    def _mark_refusal(self, kept: dict[str, str], got: _Outcome) -> None:
        """Note which settings refused the URL or truncated its page, or that none did."""
        known, reply = got.known, got.reply
        if got.not_requested or isinstance(reply, NotModified):
            return
        reason = reply.reason.value if isinstance(reply, Gone | Failed) else ""
        if isinstance(reply, Fetched) and reply.exchange.truncation is Truncation.LENGTH:
            reason = TRUNCATED
        if mark := self._marks.get(reason, ""):
            kept[REFUSED] = mark
        elif REFUSED in kept or known.hops or known.steps:  # as for validators
            kept[REFUSED] = ""

    def _validator(self, reply: Fetched, name: str) -> str:
        value = reply.exchange.header(name)
        return value if len(value) <= _LONGEST_HEADER and reply.exchange.truncation in _REPRODUCIBLE else ""

    # Following redirects and links

    def _target(self, source: Url, reply: Moved, known: RequestContext) -> Url | str | None:
        """Return the target of a redirect, or why it is not recorded."""
        if reply.target is None:
            return None
        if self._fetch.redirect_max_exceeded_skip and known.hops >= self._fetch.redirect_max > 0:
            return f"too many redirects: {reply.target.text}"
        target = self._pages.link_rules.redirect(source, reply.target)
        return target if isinstance(target, Url) else f"{target.value}: {reply.target.text}"

    def _repeats_with_cookie(self, request: Request, reply: Moved, known: RequestContext) -> bool:
        """Queue a URL that redirects to itself and sets a cookie once more; return whether it was queued."""
        if not self._keeps_cookies or known.again or not sets_cookie_for_itself(reply, request.url):
            return False
        again = replace(request, context=encode_context(replace(known, again=True)))
        return self.add(again, even_if_full=True) is None

    def _follow_redirect(self, source: Url, target: Url, represented_by: str | None, known: RequestContext) -> None:
        if (
            target == source
            or known.hops >= self._fetch.redirect_max
            or not self._belongs(target)
            or not self._recent.add(target.text, self._recent_within)
        ):
            return
        on = known.for_redirect(source, target, represented_by, self._interval)
        # It takes the place in the queues of the request that has just ended.
        self.add(Request(url=target, headers=on.cookies(), context=encode_context(on)), even_if_full=True)

    def _follow_links(self, url: Url, known: RequestContext, page: PageRows) -> None:
        if self._depth is None or known.steps >= self._depth:
            return
        self._recent.add(url.text)
        left = self._fetch.follow_outlinks_num_links
        for link in page.links:
            if left <= 0:
                return
            target = link.target
            may_follow = target.host == url.host or not self._fetch.follow_outlinks_ignore_external
            if may_follow and self._belongs(target) and self._recent.add(target.text):
                extra, metadata, steps = dict(link.extra) or None, dict(link.metadata) or None, known.steps + 1
                on = RequestContext(
                    interval=self._interval, score=link.score, metadata=metadata, extra=extra, steps=steps
                )
                self.add(Request(url=target, context=encode_context(on)))
                left -= 1


def _why(reply: Reply, target: Url | str | None) -> tuple[str | None, str | None]:
    """Return the reason and detail of a reply that is not a page."""
    if isinstance(reply, Gone | Failed):
        return reply.reason.value, reply.detail or None
    if not isinstance(reply, Moved):
        return None, None
    if isinstance(target, Url):
        return "moved", None
    return "moved", "without a target" if target is None else f"target not kept: {target}"


class RecentUrls:
    """Remembers the most recent URLs, by hash.

    >>> recent = RecentUrls(2)
    >>> recent.add("a"), recent.add("a"), recent.add("b"), recent.add("c"), recent.add("a")
    (True, False, True, True, True)
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._known: dict[int, float] = {}

    def add(self, text: str, within: float | None = None) -> bool:
        """Remember a text; return false if it was already remembered, in the last ``within`` seconds if given."""
        hashed = xxhash.xxh3_64_intdigest(text.encode())
        now = self._clock()
        since = self._known.get(hashed)
        if since is not None:
            if within is None or now - since <= within:
                return False
            del self._known[hashed]
        if len(self._known) >= self._most > 0:
            del self._known[next(iter(self._known))]
        if self._most:
            self._known[hashed] = now
        return True
