"""Takes entries from the journal, most urgent first, and brings each through the pipeline, so many at a time.

Nothing is lost: an entry is closed by the same write that records what came of it. One that this scheduler does not
finish, because it was killed or because of a defect, is lent to somebody else once its lease has run out.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta

from scoter.compose import Service
from scoter.core.url import canonical
from scoter.errors import ScoterError, UrlError
from scoter.live.context import Context
from scoter.live.ports import Entry, Intake

_AT_ONCE = 200
_LOOK_AGAIN = 0.25  # seconds after which an empty journal is looked at again; ``wake`` makes it sooner

_log = logging.getLogger(__name__)


class Scheduler:
    """One reader of the journal."""

    def __init__(
        self,
        reader: str,
        intake: Intake,
        pipeline: Service[Context, Context],
        *,
        most: int,
        lease: timedelta,
        on_done: Callable[[Context], None] = lambda context: None,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        """``most`` entries are worked on at a time; ``on_done`` is told of each that is recorded."""
        self._reader = reader
        self._intake = intake
        self._pipeline = pipeline
        self._most = most
        self._lease = lease
        self._on_done = on_done
        self._new_id = new_id
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._awake = asyncio.Event()
        self._stopping = False

    def __repr__(self) -> str:
        return f"Scheduler({self._reader}, {len(self._tasks)} under way)"

    @property
    def under_way(self) -> int:
        return len(self._tasks)

    def wake(self) -> None:
        """Look at the journal now: something was accepted, or something has ended."""
        self._awake.set()

    async def run(self) -> None:
        """Work until ``stop``; then what is under way is given back."""
        renewing = asyncio.create_task(self._renew())
        try:
            while not self._stopping:
                self._awake.clear()
                opened = await self._open()
                for entry in opened:
                    self._begin(entry)
                if not opened or len(self._tasks) >= self._most:
                    await self._rest()
        finally:
            renewing.cancel()
            await self._give_back()

    def stop(self) -> None:
        self._stopping = True
        self._awake.set()

    async def _open(self) -> Sequence[Entry]:
        room = min(self._most - len(self._tasks), _AT_ONCE)
        return await self._intake.open(self._reader, room, self._lease) if room > 0 else ()

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(_LOOK_AGAIN):
                await self._awake.wait()
        except TimeoutError:
            return

    def _begin(self, entry: Entry) -> None:
        if entry.id in self._tasks:  # its lease ran out while it was worked on: it goes on under the new one
            return
        task = asyncio.create_task(self._work(entry))
        self._tasks[entry.id] = task
        task.add_done_callback(lambda _: self._ended(entry.id))

    def _ended(self, entry: int) -> None:
        self._tasks.pop(entry, None)
        if len(self._tasks) < self._most:
            self._awake.set()

    async def _work(self, entry: Entry) -> None:
        try:
            url = canonical(entry.url)
        except UrlError as error:
            # Only what was canonical was accepted, so an older version must have had other rules.
            _log.error("an accepted URL is none any more: %r: %s", entry.url, error)
            return
        try:
            done = await self._pipeline(Context(entry=entry, url=url, fetch=self._new_id()))
        except asyncio.CancelledError:
            raise
        except Exception:  # a defect must not stop the others; the journal ends an entry that fails again and again
            _log.exception("entry %d could not be worked on: %r", entry.id, entry.url)
            return
        self._on_done(done)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            held = list(self._tasks)
            for at in range(0, len(held), _AT_ONCE):
                try:
                    await self._keep(held[at : at + _AT_ONCE])
                except ScoterError as error:  # a full disk, say: what is lost by it is lent again later
                    _log.warning("leases could not be prolonged: %s", error)

    async def _keep(self, entries: Sequence[int]) -> None:
        """Prolong leases, and give up what somebody else has by now."""
        still = set(await self._intake.renew(self._reader, entries, self._lease))
        for entry in entries:
            if entry not in still and (task := self._tasks.get(entry)) is not None:
                task.cancel()

    async def _give_back(self) -> None:
        tasks = dict(self._tasks)
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        for at in range(0, len(tasks), _AT_ONCE):
            await self._intake.abort(self._reader, list(tasks)[at : at + _AT_ONCE])
