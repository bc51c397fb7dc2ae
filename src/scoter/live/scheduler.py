"""Takes entries from the journal, most urgent first, and brings each through the pipeline, so many at a time.

Nothing is lost: an entry is closed by the same write that records what came of it. One that this scheduler does not
finish, because it was killed or because of a defect, is lent to somebody else once its lease has run out.

A domain has a share of what is under way and no more: its URLs wait for its turns, and a thousand of them would leave
no room for any other's. What is beyond its share is held, and begins when one of its own ends. Nor has it more than is
left for all others together, so that some room is left however many domains are slow.

What cannot be kept because of a full disk or a locked database is given back as if it had never been taken, however
long that lasts: no URL ever fails for it.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta

from scoter.compose import Service
from scoter.core.url import canonical
from scoter.errors import ScoterError, Unavailable, UrlError
from scoter.live.admission import DomainShares, ScheduledEntry, StoragePause
from scoter.live.clock import lease_now
from scoter.live.context import Context
from scoter.live.ports import Intake, JournalEntry
from scoter.live.stages.requests import Postponed

_AT_ONCE = 200
_LOOK_AGAIN = 0.25  # seconds after which an empty journal is looked at again; ``wake`` makes it sooner
_SHARE = 10  # a domain has at most one part in so many of what is under way
_GRACE = 1.0  # seconds in which what has been recorded comes to its end
_HELD = 10  # times as many as may be under way are held for domains that have their share

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
        most_of_domain: int | None = None,
        on_done: Callable[[Context], None] = lambda context: None,
        pause: StoragePause | None = None,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        lease_clock: Callable[[], float] = lease_now,
    ) -> None:
        """``most`` entries are worked on at a time; ``on_done`` is told of each that is recorded.

        ``lease_clock`` is the clock of leases.
        """
        self._reader = reader
        self._intake = intake
        self._pipeline = pipeline
        self._most = most
        self._lease = lease
        self._on_done = on_done
        self._new_id = new_id
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._shares = DomainShares(most, most_of_domain or max(1, most // _SHARE))
        self._storage_pause = pause or StoragePause()
        self._returning: set[int] = set()
        self._doomed: dict[int, asyncio.TimerHandle] = {}  # under way, and not lent to us any more
        self._is_behind = False  # leases could not be prolonged when it was time
        self._lease_clock = lease_clock
        self._renewed = lease_clock()  # when leases were last prolonged
        self._awake = asyncio.Event()
        self._has_more = True
        self._stopping = False

    def __repr__(self) -> str:
        return f"Scheduler({self._reader}, {len(self._tasks)} under way, {len(self._shares.held)} held)"

    @property
    def under_way(self) -> int:
        return len(self._tasks)

    @property
    def held(self) -> int:
        """How many wait for others of their domain."""
        return len(self._shares.held)

    @property
    def trouble(self) -> str:
        """Why nothing is taken up at the moment, or nothing."""
        return self._storage_pause.trouble

    def wake(self) -> None:
        """Look at the journal now: something was accepted."""
        self._awake.set()

    async def run(self) -> None:
        """Work until ``stop``; then what is under way is given back."""
        renewing = asyncio.create_task(self._renew())
        try:
            while not self._stopping:
                self._awake.clear()
                for entry in await self._open():
                    self._begin(entry)
                for job in self._shares.more(self._room()):
                    self._start(job)
                if not self._has_more or self._room() <= 0:
                    await self._rest()
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            await self._give_back()

    def stop(self) -> None:
        self._stopping = True
        self._awake.set()

    def _room(self) -> int:
        return min(self._most - len(self._tasks), _HELD * self._most - self.held, _AT_ONCE)

    async def _open(self) -> Sequence[JournalEntry]:
        room = self._room()
        self._has_more = room <= 0  # nobody knows
        if self._has_more:
            return ()
        room = self._storage_pause.admits(room)
        if not room:
            return ()
        try:
            await self._catch_up()
            opened = await self._intake.open(self._reader, room, self._lease)
        except Unavailable as error:  # what was accepted is still there afterwards
            self._pause(error)
            return ()
        except ScoterError as error:
            _log.warning("cannot read the journal: %s", error)
            return ()
        except Exception:
            _log.exception("cannot read the journal")
            return ()
        self._storage_pause.opened(len(opened))
        self._has_more = len(opened) >= room
        return opened

    def _pause(self, error: Unavailable) -> None:
        """Take up nothing for a while, and give back what has not begun."""
        self._storage_pause.begin(error)
        self._returning.update(self._shares.held)
        self._shares.held.clear()

    async def _catch_up(self) -> None:
        """Do what could not be written before. Lending comes after it: that takes back what is past its time."""
        # A process that stood still for longer than a lease, and lent first, would take back all that it works on.
        if self._is_behind or self._lease_clock() - self._renewed > self._lease.total_seconds() / 2:
            await self._renew_all()
            self._is_behind = False
        while returning := [entry for entry in self._returning if entry not in self._tasks][:_AT_ONCE]:
            await self._intake.abort(self._reader, returning)
            self._returning.difference_update(returning)

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(_LOOK_AGAIN):
                await self._awake.wait()
        except TimeoutError:
            return

    def _begin(self, entry: JournalEntry) -> None:
        if entry.id in self._tasks or entry.id in self._shares.held:
            if (doom := self._doomed.pop(entry.id, None)) is not None:
                doom.cancel()
            return  # its lease ran out while it was worked on: it goes on under the new one
        try:
            url = canonical(entry.url)
        except UrlError as error:
            # Only what was canonical was accepted, so an older version must have had other rules.
            _log.error("accepted URL is no longer valid: %r: %s", entry.url, error)
            return
        if (job := self._shares.admit(ScheduledEntry(entry, url))) is not None:
            self._start(job)

    def _start(self, job: ScheduledEntry) -> None:
        task = asyncio.create_task(self._work(job))
        self._tasks[job.entry.id] = task
        task.add_done_callback(lambda _: self._ended(job))

    def _ended(self, job: ScheduledEntry) -> None:
        self._tasks.pop(job.entry.id, None)
        if (doom := self._doomed.pop(job.entry.id, None)) is not None:
            doom.cancel()
        following = None if self._stopping else self._shares.after(job)
        if following is not None:
            self._start(following)
        elif self._has_more:  # otherwise the journal was empty, and there is nothing to take this one's place
            self._awake.set()

    async def _work(self, job: ScheduledEntry) -> None:
        try:
            done = await self._pipeline(Context(entry=job.entry, url=job.url, fetch=self._new_id()))
            if done.is_recorded:
                self._storage_pause.kept(archived=any(done.archived))
                self._on_done(done)
        except Unavailable as error:  # ours, not the page's: it does not count as a try
            self._pause(error)
            self._returning.add(job.entry.id)
        except Postponed as postponed:
            _log.info("%s", postponed)
        except Exception:  # a defect must not stop the others; the journal ends an entry that fails again and again
            _log.exception("cannot process entry %d: %r", job.entry.id, job.entry.url)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            try:
                await self._renew_all()
            except Unavailable as error:
                self._is_behind = True
                self._pause(error)

    async def _renew_all(self) -> None:
        began = self._lease_clock()
        held = [*self._tasks, *self._shares.held]
        for at in range(0, len(held), _AT_ONCE):
            try:
                await self._keep(held[at : at + _AT_ONCE])
            except Unavailable:
                raise
            except ScoterError as error:  # what is lost by it is lent again later
                _log.warning("cannot renew leases: %s", error)
            except Exception:
                _log.exception("cannot renew leases")
        self._renewed = began

    async def _keep(self, entries: Sequence[int]) -> None:
        """Prolong leases, and give up what somebody else has by now."""
        still = set(await self._intake.renew(self._reader, entries, self._lease))
        for entry in entries:
            if entry not in still:
                self._shares.held.pop(entry, None)
                if (task := self._tasks.get(entry)) is not None and entry not in self._doomed:
                    # Not at once: it may be one that was recorded a moment ago, of which nobody has been told yet.
                    self._doomed[entry] = asyncio.get_running_loop().call_later(_GRACE, task.cancel)

    async def _give_back(self) -> None:
        self._stopping = True
        entries = list({*self._tasks, *self._shares.held, *self._returning})
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for at in range(0, len(entries), _AT_ONCE):
            try:
                await self._intake.abort(self._reader, entries[at : at + _AT_ONCE])
            except ScoterError as error:  # their leases will run out
                _log.warning("cannot return unfinished entries to the journal: %s", error)
