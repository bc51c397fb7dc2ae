"""Checks before messages are accepted, cached domain rules, and queries on the journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Final

from scoter.core.bounded import BoundedMap
from scoter.errors import StoreUnavailable
from scoter.live.api.records import DomainRule
from scoter.live.api.services import MessageSink
from scoter.live.content.retention import DiskFloor
from scoter.live.intake.journal_rules import domain_of
from scoter.live.intake.messages import Overloaded, TakeResult
from scoter.live.ports import DomainRuleStore
from scoter.live.records import Message
from scoter.live.sqlite.database import DatabaseReader
from scoter.live.tenants import tenant_of

MOST_RULES: Final = 100_000
_RETRY_AFTER: Final = 60.0
_MOST_TENANTS: Final = 1_000
_COUNT_VALID: Final = 1.0  # seconds; counting takes some milliseconds


class RoomCheckedSink:
    """Accepts messages while there is disk space and room for callbacks, so that what was accepted can be finished."""

    def __init__(
        self,
        sink: MessageSink,
        floor: DiskFloor,
        *,
        waiting_callbacks: Callable[[int, str | None], int] = lambda most, tenant: 0,
        most_callbacks: int = 1,
        most_of_tenant: int | None = None,
        is_known: Callable[[str], bool] = lambda message: False,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        """``waiting_callbacks`` counts the waiting deliveries of a tenant or of all, up to a limit, once a second.

        ``is_known`` tells whether a message was submitted before: it needs no space.
        """
        self._sink = sink
        self._floor = floor
        self._waiting = waiting_callbacks
        self._most_callbacks = most_callbacks
        self._most_of_tenant = most_of_tenant
        self._is_known = is_known
        self._timer = timer
        self._full: BoundedMap[str | None, tuple[float, bool]] = BoundedMap(_MOST_TENANTS)

    async def take(self, messages: Sequence[Message]) -> Sequence[TakeResult]:
        if not self._floor.has_room():
            has_room = [self._is_known(message.id) for message in messages]
            if not any(has_room):
                raise StoreUnavailable("the disk is nearly full")
        else:
            has_room = [self._has_callback_room(message) or self._is_known(message.id) for message in messages]
            if all(has_room):
                return await self._sink.take(messages)
        others = iter(await self._sink.take(list(compress(messages, has_room))))
        return [next(others) if has else Overloaded(_RETRY_AFTER) for has in has_room]

    def _has_callback_room(self, message: Message) -> bool:
        if not message.callback:
            return True
        if self._is_full(None, self._most_callbacks):
            return False
        most = self._most_of_tenant
        return most is None or most >= self._most_callbacks or not self._is_full(tenant_of(message.id), most)

    def _is_full(self, tenant: str | None, most: int) -> bool:
        now, counted = self._timer(), self._full.get(tenant)
        if counted is None or now - counted[0] >= _COUNT_VALID:
            counted = now, self._waiting(most, tenant) >= most
            self._full.put(tenant, counted)
        return counted[1]


class CachedDomainRules:
    """Domain rules, cached in memory and applied when set: ``apply`` passes a new rule on.

    They are read several times per URL, and only this process changes them.
    """

    def __init__(self, rules: DomainRuleStore, apply: Callable[[DomainRule], None], most: int = MOST_RULES) -> None:
        self._rules = rules
        self._apply = apply
        self._most = most
        self._known = {rule.domain: rule for rule in rules.all()}

    def get(self, domain: str) -> DomainRule | None:
        return self._known.get(domain)

    def all(self) -> Sequence[DomainRule]:
        return self._rules.all()

    async def put(self, rule: DomainRule) -> None:
        if len(self._known) >= self._most and rule.domain not in self._known:
            raise StoreUnavailable(f"there are already {self._most:,} rules")
        await self._rules.put(rule)
        found = self._rules.get(rule.domain)  # ``None`` if the rule was empty
        if found is None:
            self._known.pop(rule.domain, None)
        else:
            self._known[rule.domain] = found
        self._apply(rule)


def is_pending(reader: DatabaseReader, url: str) -> bool:
    """Return whether a URL waits in the journal; works in any process that can read the database."""
    # Most unknown URLs belong to domains without waiting URLs.
    if reader.one("SELECT 1 FROM backlog WHERE domain = ?", (domain_of(url),)) is None:
        return False
    return reader.one("SELECT 1 FROM entries WHERE url = ? LIMIT 1", (url,)) is not None


def is_forced(reader: DatabaseReader, url: str) -> bool:
    """Return whether a URL waits in the journal for a forced fetch."""
    query = "SELECT 1 FROM entries e JOIN messages m ON m.number = e.message WHERE e.url = ? AND m.force LIMIT 1"
    return reader.one(query, (url,)) is not None
