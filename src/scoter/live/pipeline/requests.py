"""Makes each hop once for all redirect chains that need it, and refuses what must not be requested."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import TypeGuard

from msgspec.structs import replace

from scoter.compose import Service
from scoter.core.reply import Failed, Reason, Reply, Request
from scoter.core.url import Url
from scoter.errors import ScoterError
from scoter.live.pipeline.context import Context
from scoter.live.pipeline.retries import PASSING
from scoter.live.pipeline.shared_fetch import SharedTask
from scoter.live.ports import DomainRuleStore, HopReply, RequestQueues
from scoter.live.records import Priority

_SCHEMES = frozenset({"http", "https"})
_LONGEST_WAIT = timedelta(minutes=2)  # requests to a domain that is on hold for longer are answered at once anyway
_FIRST_PAUSE = 1.0  # seconds before the first retry; the next ones wait twice as long each


class Postponed(ScoterError):
    """A hop was not made for a reason on our side. Nothing is recorded; the URL is tried again."""


class HopFetcher:
    """Shares the reply to a hop among all chains through it, until each chain has ended.

    By then one of them has recorded the URL, so it is never requested twice. A chain that forces a fetch shares only
    hops whose reply has not arrived yet.

    A hop that fails for a reason that may pass is queued again at its domain, at most ``retries`` times. Its journal
    entries stay open meanwhile, so a restart loses no URL.

    It is also a filter, since it must know when a chain ends.
    """

    def __init__(
        self, fetching: RequestQueues, rules: DomainRuleStore | None, timer: Callable[[], float], retries: int
    ) -> None:
        self._fetching = fetching
        self._rules = rules
        self._timer = timer
        self._retries = retries
        self._hops: dict[str, SharedTask[HopReply]] = {}
        self._held: dict[str, list[tuple[Url, SharedTask[HopReply]]]] = {}
        self._urgency: dict[str, Priority] = {}  # by chain: the highest priority of those that wait for it
        self._priorities: dict[str, Priority] = {}  # by the URL of a hop: likewise

    def __len__(self) -> int:
        return len(self._hops)

    async def __call__(self, context: Context, service: Service[Context, Context], /) -> Context:
        self._urgency[context.fetch] = context.entry.priority
        try:
            return await service(context)
        finally:
            del self._urgency[context.fetch]
            for url, shared in self._held.pop(context.fetch, ()):
                if await shared.let_go() and self._hops.get(url.text) is shared:
                    del self._hops[url.text], self._priorities[url.text]

    def raise_priority(self, fetch: str, priority: Priority) -> None:
        """Raise the priority of a chain's hops, including queued ones, because a more urgent entry joined it."""
        if priority < self._urgency.get(fetch, priority):
            self._urgency[fetch] = priority
            for url, shared in self._held.get(fetch, ()):
                if shared.is_going_on:
                    self._raise(url, priority)

    def priority_of(self, context: Context) -> Priority:
        """Return the highest priority of the entries that wait for a chain."""
        return self._urgency.get(context.fetch, context.entry.priority)

    async def ask(self, context: Context, url: Url, *, retries: int | None = None) -> HopReply:
        """Return the reply to a hop: a new one, or one that another unfinished chain has made or is making.

        ``retries`` replaces the configured number for a new one.
        """
        if (refused := self.refused(url)) is not None:
            return HopReply(refused)
        began, priority = self._timer(), self.priority_of(context)
        shared = self._hops.get(url.text)
        is_mine = shared is None or not (shared.is_going_on or (shared.value is not None and not context.entry.force))
        if shared is None or is_mine:
            self._priorities[url.text] = priority
            work = self._fetch(url, self._retries if retries is None else retries)
            shared = self._hops[url.text] = SharedTask(work)
        elif shared.is_going_on:
            self._raise(url, priority)
        shared.hold()
        self._held.setdefault(context.fetch, []).append((url, shared))
        answer = await shared.outcome()
        reply = answer.reply
        if isinstance(reply, Failed) and reply.reason is Reason.STOPPED:
            raise Postponed(f"{url.text} was not asked for: {reply.detail or reply.reason.value}")
        if not is_mine:
            return replace(answer, waited=self._timer() - began)
        remote = 0.0 if reply.exchange is None else reply.exchange.timings.total
        return replace(answer, remote=remote)

    def refused(self, url: Url) -> Failed | None:
        """Return the reply to a hop that must not be made; ``None`` if it may be."""
        if url.scheme not in _SCHEMES:
            # Batch crawls may allow ftp: or file:. Here the URLs come from strangers and from redirects.
            return _failed(url, Reason.REFUSED_SCHEME, f"{url.scheme} is not asked for")
        rule = self._rules.get(url.domain) if self._rules is not None else None
        if rule is not None and rule.blocked:
            return _failed(url, Reason.REFUSED_ADDRESS, f"{rule.domain} is blocked")
        return None

    async def _fetch(self, url: Url, retries: int) -> HopReply:
        began = tried = self._timer()
        answer = await self._try(url)
        for number in range(retries):
            if not _may_pass(answer.reply):
                break
            if answer.reply.reason is not Reason.BUSY:  # a busy domain is on hold already
                await asyncio.sleep(_FIRST_PAUSE * 2**number)
            tried = self._timer()
            answer = await self._try(url)
        return replace(answer, waited=answer.waited + tried - began)

    async def _try(self, url: Url) -> HopReply:
        return await self._fetching.fetch(Request(url=url), self._priorities[url.text], is_read=True)

    def _raise(self, url: Url, priority: Priority) -> None:
        self._priorities[url.text] = min(priority, self._priorities[url.text])
        self._fetching.raise_priority(url, priority)


def _may_pass(reply: Reply) -> TypeGuard[Failed]:
    """Tell whether a failure may pass while a message waits: 429, 503, a reset or a timeout."""
    if not isinstance(reply, Failed) or reply.reason not in PASSING:
        return False
    return reply.retry_after is None or reply.retry_after <= _LONGEST_WAIT


def _failed(url: Url, reason: Reason, detail: str) -> Failed:
    return Failed(url, reason, detail, transient=False, blames_host=False)
