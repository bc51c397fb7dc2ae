"""Takes entries from the journal, most urgent first, and runs each through the pipeline; the concurrency is bounded.

Nothing is lost: the write that records an outcome also closes the entry. An entry that this scheduler does not finish,
because it was killed or has a defect, is leased again after its lease expires.

Each domain has a share of the entries under way. Entries beyond it are held, and start when another entry of the
domain ends. Otherwise a thousand URLs of one slow domain would block all others. The share shrinks with the free
capacity, so that some capacity remains however many domains are slow.

While the disk is full or the database locked, entries are returned to the journal without counting a try: no URL
fails because of it.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta

from scoter.compose import Service
from scoter.core.url import stored_url
from scoter.errors import ScoterError, Unavailable, UrlError
from scoter.http.logs import logging_about
from scoter.live.clock import steady_now
from scoter.live.pipeline.context import Context
from scoter.live.pipeline.limits import DomainShares, ScheduledEntry, StoragePause
from scoter.live.pipeline.requests import Postponed
from scoter.live.ports import Intake, JournalEntry
from scoter.live.tenants import split_id

_AT_ONCE = 200
_POLL_EVERY = 0.25  # seconds between looks at an empty journal; ``wake`` ends the wait
_SHARE = 10  # a domain may have a tenth of the entries under way
_GRACE = 1.0  # seconds that a task has to finish after its lease was lost
_HELD = 10  # at most this many times the concurrency is held

_log = logging.getLogger(__name__)


class Scheduler:
    """Reads the journal and runs its entries."""

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
        steady_clock: Callable[[], float] = steady_now,
    ) -> None:
        """Run at most ``most`` entries at a time; call ``on_done`` for each that is recorded."""
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
        self._doomed: dict[int, asyncio.TimerHandle] = {}  # tasks whose lease was lost, to be cancelled
        self._is_behind = False  # the last renewal of leases failed
        self._steady_clock = steady_clock
        self._renewed = steady_clock()  # when leases were last renewed
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
        """How many entries wait for others of their domain."""
        return len(self._shares.held)

    @property
    def trouble(self) -> str:
        """Why no entries are started; empty if all is well."""
        return self._storage_pause.trouble

    def wake(self) -> None:
        """Look at the journal now, because a message is being stored."""
        self._awake.set()

    async def run(self) -> None:
        """Run until ``stop``, then return unfinished entries to the journal."""
        try:
            async with asyncio.TaskGroup() as group:  # without renewals nothing may start: one ends with the other
                renewing = group.create_task(self._renew())
                await self._run_entries()
                renewing.cancel()
        finally:
            await self._give_back()

    async def _run_entries(self) -> None:
        while not self._stopping:
            self._awake.clear()
            for entry in await self._open():
                self._begin(entry)
            for job in self._shares.more(self._room()):
                self._start(job)
            if not self._has_more or self._room() <= 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_EVERY):
                        await self._awake.wait()

    def stop(self) -> None:
        self._stopping = True
        self._awake.set()

    def _room(self) -> int:
        return min(self._most - len(self._tasks), _HELD * self._most - self.held, _AT_ONCE)

    async def _open(self) -> Sequence[JournalEntry]:
        room = self._room()
        self._has_more = room <= 0  # unknown while there is no capacity
        if self._has_more:
            return ()
        room = self._storage_pause.admits(room)
        if not room:
            return ()
        try:
            await self._catch_up()
            opened = await self._intake.open(self._reader, room, self._lease)
        except Unavailable as error:  # accepted messages are safe
            self._pause(error)
        except ScoterError as error:
            _log.warning("cannot read the journal: %s", error)
        except Exception:
            _log.exception("cannot read the journal")
        else:
            self._storage_pause.opened(len(opened))
            self._has_more = len(opened) >= room
            return opened
        return ()

    def _pause(self, error: Unavailable) -> None:
        """Start nothing for a while, and return the entries that have not started."""
        self._storage_pause.begin(error)
        self._returning.update(self._shares.held)
        self._shares.held.clear()

    async def _catch_up(self) -> None:
        """Retry failed renewals and returns of entries. Must run before ``open``, which ends expired leases."""
        # After a pause longer than a lease, ``open`` would otherwise take away everything that is under way here.
        if self._is_behind or self._steady_clock() - self._renewed > self._lease.total_seconds() / 2:
            await self._renew_all()
            self._is_behind = False
        while returning := [entry for entry in self._returning if entry not in self._tasks][:_AT_ONCE]:
            await self._intake.abort(self._reader, returning)
            self._returning.difference_update(returning)

    def _begin(self, entry: JournalEntry) -> None:
        if entry.id in self._tasks or entry.id in self._shares.held:
            if (doom := self._doomed.pop(entry.id, None)) is not None:
                doom.cancel()
            return  # its lease expired while it was running: continue under the new one
        try:
            url = stored_url(entry.url)
        except UrlError as error:
            _log.error(
                "the journal is damaged: %s", error, extra={"message_id": split_id(entry.message)[1], "url": entry.url}
            )
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
        elif self._has_more:  # otherwise the journal is empty
            self._awake.set()

    async def _work(self, job: ScheduledEntry) -> None:
        with logging_about(message_id=split_id(job.entry.message)[1], url=job.url.text, domain=job.url.domain):
            await self._carry_out(job)

    async def _carry_out(self, job: ScheduledEntry) -> None:
        try:
            done = await self._pipeline(Context(entry=job.entry, url=job.url, fetch=self._new_id()))
            if done.is_recorded:
                self._storage_pause.kept(archived=any(done.archived))
                self._on_done(done)
        except Unavailable as error:  # not the fault of the page: does not count as a try
            self._pause(error)
            self._returning.add(job.entry.id)
        except Postponed as postponed:
            _log.info("%s", postponed)
        except Exception:  # a defect must not stop the others; the journal gives up after too many tries
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
        began = self._steady_clock()
        held = [*self._tasks, *self._shares.held]
        for at in range(0, len(held), _AT_ONCE):
            try:
                await self._keep(held[at : at + _AT_ONCE])
            except Unavailable:
                raise
            except ScoterError as error:  # entries whose lease expires are leased again
                _log.warning("cannot renew leases: %s", error)
            except Exception:
                _log.exception("cannot renew leases")
        self._renewed = began

    async def _keep(self, entries: Sequence[int]) -> None:
        """Renew leases, and give up entries that another reader holds."""
        still = set(await self._intake.renew(self._reader, entries, self._lease))
        for entry in entries:
            if entry not in still:
                self._shares.held.pop(entry, None)
                if (task := self._tasks.get(entry)) is not None and entry not in self._doomed:
                    # Not at once: the entry may just have been recorded, and ``on_done`` not been called yet.
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
            except ScoterError as error:  # their leases will expire
                _log.warning("cannot return unfinished entries to the journal: %s", error)
