"""Makes each hop once for all redirect chains that need it, and refuses what must not be requested."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from scoter.compose import Service
from scoter.core.reply import Failed, Reason, Request
from scoter.core.url import Url
from scoter.errors import ScoterError
from scoter.live.context import Context
from scoter.live.ports import DomainRuleStore, HopReply, RequestQueues
from scoter.live.records import Priority
from scoter.live.stages.shared_fetch import SharedTask

_SCHEMES = frozenset({"http", "https"})


class Postponed(ScoterError):
    """A hop was not made for a reason on our side. Nothing is recorded; the URL is tried again."""


class HopFetcher:
    """Shares the reply to a hop among all chains through it, until each chain has ended.

    By then one of them has recorded the URL, so it is never requested twice. A chain that forces a fetch shares only
    hops whose reply has not arrived yet.

    It is also a filter, since it must know when a chain ends.
    """

    def __init__(self, fetching: RequestQueues, rules: DomainRuleStore | None, timer: Callable[[], float]) -> None:
        self._fetching = fetching
        self._rules = rules
        self._timer = timer
        self._hops: dict[str, SharedTask[HopReply]] = {}
        self._held: dict[str, list[tuple[Url, SharedTask[HopReply]]]] = {}
        self._urgency: dict[str, Priority] = {}  # by chain: the highest priority of those that wait for it

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
                    del self._hops[url.text]

    def raise_priority(self, fetch: str, priority: Priority) -> None:
        """Raise the priority of a chain's hops, including queued ones, because a more urgent entry joined it."""
        if priority < self._urgency.get(fetch, priority):
            self._urgency[fetch] = priority
            for url, shared in self._held.get(fetch, ()):
                if shared.is_going_on:
                    self._fetching.raise_priority(url, priority)

    async def ask(self, context: Context, url: Url) -> HopReply:
        """Return the reply to a hop: a new one, or one that another unfinished chain has made or is making."""
        if (refused := self._refused(url)) is not None:
            return HopReply(refused)
        began, priority = self._timer(), self._urgency.get(context.fetch, context.entry.priority)
        shared = self._hops.get(url.text)
        is_mine = shared is None or not (shared.is_going_on or (shared.value is not None and not context.entry.force))
        if shared is None or is_mine:
            shared = self._hops[url.text] = SharedTask(self._fetching.fetch(Request(url=url), priority, is_read=True))
        elif shared.is_going_on:
            self._fetching.raise_priority(url, priority)
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

    def _refused(self, url: Url) -> Failed | None:
        if url.scheme not in _SCHEMES:
            # Batch crawls may allow ftp: or file:. Here the URLs come from strangers and from redirects.
            return _failed(url, Reason.REFUSED_SCHEME, f"{url.scheme} is not asked for")
        rule = self._rules.get(url.domain) if self._rules is not None else None
        if rule is not None and rule.blocked:
            return _failed(url, Reason.REFUSED_ADDRESS, f"{rule.domain} is blocked")
        return None


def _failed(url: Url, reason: Reason, detail: str) -> Failed:
    return Failed(url, reason, detail, transient=False, blames_host=False)
