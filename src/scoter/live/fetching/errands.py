"""What a fetcher asks of the core: robots.txt files that others have read, and hops that belong to others."""

from __future__ import annotations

import asyncio
from typing import Final

from scoter.core.reply import Failed, Reason, Reply, Request
from scoter.core.robots_cache import StoredRobots
from scoter.live.fetching.frames import Frames
from scoter.live.fetching.messages import Ask, RobotsFound, RobotsLearnt, RobotsWanted
from scoter.live.records import Priority

_WAIT: Final = 2.0  # seconds after which a robots.txt is asked of its own host instead
_GATHER: Final = 0.05


class SharedRobots:
    """The robots cache that the core keeps for all its fetchers; without a core nothing is known."""

    def __init__(self, core: Frames) -> None:
        self._core = core
        self._asked: dict[str, asyncio.Future[StoredRobots | None]] = {}
        self._learnt: list[RobotsLearnt] = []

    async def get(self, origin: str) -> StoredRobots | None:
        if not self._core.is_open:
            return None
        found = self._asked.get(origin)
        if found is None:
            found = self._asked[origin] = asyncio.get_running_loop().create_future()
            self._core.send(RobotsWanted(origin))
        try:
            async with asyncio.timeout(_WAIT):
                return await asyncio.shield(found)
        except TimeoutError:
            self._asked.pop(origin, None)
            return None

    async def put(self, origin: str, stored: StoredRobots) -> None:
        # Not at once: that its host wants a longer delay must be with the core before others know these rules.
        if not self._learnt:
            asyncio.get_running_loop().call_later(_GATHER, self._tell)
        self._learnt.append(RobotsLearnt(origin, stored))

    def found(self, answer: RobotsFound) -> None:
        """Take the core's answer."""
        waiting = self._asked.pop(answer.origin, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer.stored)

    def lose_core(self) -> None:
        """Let nobody wait for a core that is gone."""
        for origin in tuple(self._asked):
            self.found(RobotsFound(origin, None))

    def _tell(self) -> None:
        for each in self._learnt:
            self._core.send(each)
        self._learnt.clear()


class Elsewhere:
    """Hops to domains that another fetcher holds, made by way of the core."""

    def __init__(self, core: Frames) -> None:
        self._core = core
        self._asked: dict[int, tuple[Request, asyncio.Future[Reply]]] = {}
        self._last = 0

    async def __call__(self, request: Request) -> Reply:
        if not self._core.is_open:
            return _nobody(request)
        self._last += 1
        number = self._last
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._asked[number] = (request, reply)
        self._core.send(Ask(number, request, Priority.PERSON, is_bare=True))
        try:
            return await reply
        finally:
            self._asked.pop(number, None)

    def answered(self, number: int, reply: Reply) -> None:
        """Take the core's answer."""
        found = self._asked.get(number)
        if found is not None and not found[1].done():
            found[1].set_result(reply)

    def lose_core(self) -> None:
        """Let nobody wait for a core that is gone."""
        for number, (request, _) in tuple(self._asked.items()):
            self.answered(number, _nobody(request))


def _nobody(request: Request) -> Reply:
    return Failed(request.url, Reason.STOPPED, "nobody is there who may ask its domain", blames_host=False)
