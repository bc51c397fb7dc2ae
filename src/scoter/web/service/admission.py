"""What stands before acceptance, and what a new rule must reach."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Final

from scoter.api import DomainRule
from scoter.errors import StoreUnavailable
from scoter.live.acceptance import Overloaded, TakeResult
from scoter.live.content.retention import DiskFloor
from scoter.live.journal_rules import domain_of
from scoter.live.ports import DomainRuleStore
from scoter.live.records import Message
from scoter.live.sqlite.database import DatabaseReader
from scoter.web.handlers.messages import MessageSink

MOST_RULES: Final = 100_000
_LATER: Final = 60.0
_COUNTED: Final = 1.0  # seconds for which a count holds: it takes some milliseconds


class RoomCheckedSink:
    """Takes messages in while there is room for what comes of them, so that what was accepted can be finished."""

    def __init__(
        self,
        taker: MessageSink,
        floor: DiskFloor,
        *,
        waiting_callbacks: Callable[[], int] = lambda: 0,
        most_callbacks: int = 1,
        is_known: Callable[[str], bool] = lambda message: False,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        """``waiting_callbacks`` tells how many announcements wait to be delivered; it is asked once a second.

        ``is_known`` tells whether a message came before: nothing more comes of it, so that it needs no room.
        """
        self._taker = taker
        self._floor = floor
        self._waiting = waiting_callbacks
        self._most_callbacks = most_callbacks
        self._is_known = is_known
        self._timer = timer
        self._counted: tuple[float, int] | None = None

    async def take(self, messages: Sequence[Message]) -> Sequence[TakeResult]:
        if not self._floor.has_room():
            has_room = [self._is_known(message.id) for message in messages]
            if not any(has_room):
                raise StoreUnavailable("the disk is nearly full")
        elif not any(message.callback for message in messages) or self._has_callback_room():
            return await self._taker.take(messages)
        else:
            has_room = [not message.callback or self._is_known(message.id) for message in messages]
        others = iter(await self._taker.take(list(compress(messages, has_room))))
        return [next(others) if has else Overloaded(_LATER) for has in has_room]

    def _has_callback_room(self) -> bool:
        now = self._timer()
        if self._counted is None or now - self._counted[0] >= _COUNTED:
            self._counted = now, self._waiting()
        return self._counted[1] < self._most_callbacks


class CachedDomainRules:
    """Rules that are kept, and then hold: ``apply`` tells those who act by them.

    They are asked for several times for each URL, and nobody else sets them: so they are read once.
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
            raise StoreUnavailable(f"there are {self._most:,} rules already, and no more are kept")
        await self._rules.put(rule)
        found = self._rules.get(rule.domain)  # none, where the rule said nothing
        if found is None:
            self._known.pop(rule.domain, None)
        else:
            self._known[rule.domain] = found
        self._apply(rule)


class PendingUrls:
    """Tells whether a URL waits in the journal, to whoever can read the database."""

    def __init__(self, reader: DatabaseReader) -> None:
        self._reader = reader

    def __call__(self, url: str) -> bool:
        # Most URLs of which nothing is known are of domains of which nothing waits.
        if self._reader.one("SELECT 1 FROM backlog WHERE domain = ?", (domain_of(url),)) is None:
            return False
        return self._reader.one("SELECT 1 FROM entries WHERE url = ? LIMIT 1", (url,)) is not None


class ForcedUrls:
    """Tells whether a URL waits in the journal to be fetched whatever is known of it."""

    def __init__(self, reader: DatabaseReader) -> None:
        self._reader = reader

    def __call__(self, url: str) -> bool:
        query = "SELECT 1 FROM entries e JOIN messages m ON m.number = e.message WHERE e.url = ? AND m.force LIMIT 1"
        return self._reader.one(query, (url,)) is not None
