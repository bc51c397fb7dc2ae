"""What stands before acceptance, and what a new rule must reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from scoter.live.acceptance import Answer, Overloaded
from scoter.live.content.room import DiskFloor
from scoter.live.memory.journal import domain_of
from scoter.live.ports import DomainRule, DomainRules
from scoter.live.records import Message
from scoter.live.sqlite.database import Reader
from scoter.web.handlers.messages import Taker

_LATER: Final = 60.0


class WithRoom:
    """Takes messages in while the disk has room, so that what was accepted can be finished."""

    def __init__(self, taker: Taker, floor: DiskFloor) -> None:
        self._taker = taker
        self._floor = floor

    async def take(self, messages: Sequence[Message]) -> Sequence[Answer]:
        if not self._floor.has_room():
            return [Overloaded(_LATER)] * len(messages)
        return await self._taker.take(messages)


class EffectiveRules:
    """Rules that are kept, and then hold: ``apply`` tells those who act by them.

    They are asked for several times for each URL, and nobody else sets them: so they are read once.
    """

    def __init__(self, rules: DomainRules, apply: Callable[[DomainRule], None]) -> None:
        self._rules = rules
        self._apply = apply
        self._known = {rule.domain: rule for rule in rules.all()}

    def get(self, domain: str) -> DomainRule | None:
        return self._known.get(domain)

    def all(self) -> Sequence[DomainRule]:
        return self._rules.all()

    async def put(self, rule: DomainRule) -> None:
        await self._rules.put(rule)
        found = self._rules.get(rule.domain)  # none, where the rule said nothing
        if found is None:
            self._known.pop(rule.domain, None)
        else:
            self._known[rule.domain] = found
        self._apply(rule)


class Pending:
    """Tells whether a URL waits in the journal, to whoever can read the database."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __call__(self, url: str) -> bool:
        # Most URLs of which nothing is known are of domains of which nothing waits.
        if self._reader.one("SELECT 1 FROM backlog WHERE domain = ?", (domain_of(url),)) is None:
            return False
        return self._reader.one("SELECT 1 FROM entries WHERE url = ? LIMIT 1", (url,)) is not None
