"""Recurring jobs. They are stored in one small file; a run that was missed is made up for once."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from scoter.batch.api.jobs import CrawlBusy, JobRequest, Jobs, TooManyJobs
from scoter.batch.api.records import MAX_SCHEDULES, ScheduleInfo, ScheduleOrder
from scoter.config.units import read_duration
from scoter.errors import UsageError, UserError
from scoter.http.shares import ShareExceeded
from scoter.store.disk import disk_errors
from scoter.store.tables.local import LocalStorage

_FILE: Final = "schedules.json"
SHORTEST: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(days=3_660)
_log = logging.getLogger(__name__)


class TooManySchedules(UsageError):
    """There are as many schedules as allowed."""


class NoSuchSchedule(UsageError):
    """There is no such schedule."""


class Schedules:
    """The schedules of a folder."""

    def __init__(self, state: Path, jobs: Jobs, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._state = state
        self._jobs = jobs
        self._clock = clock
        self._all = {each.id: each for each in _read(state / _FILE)}

    def all(self) -> list[ScheduleInfo]:
        """Return all schedules, oldest first."""
        return list(self._all.values())

    def one(self, identity: str) -> ScheduleInfo:
        if identity not in self._all:
            raise NoSuchSchedule("there is no such schedule", where=identity)
        return self._all[identity]

    def add(self, order: ScheduleOrder, directory: Path) -> ScheduleInfo:
        """Create a schedule; raise if its job would not be accepted."""
        every = interval(order.every)
        if len(self._all) >= MAX_SCHEDULES:
            raise TooManySchedules(f"there are already {MAX_SCHEDULES} schedules", hint="Delete some of them.")
        request = JobRequest(crawl=order.crawl, command=order.command, options=order.options, settings=order.settings)
        self._jobs.check(request, directory)
        now = self._clock()
        made = ScheduleInfo(
            id=secrets.token_hex(6),
            crawl=order.crawl,
            every=order.every,
            next_run=now if order.start is None else order.start,
            command=order.command,
            options=order.options,
            settings=order.settings,
            note=order.note or "",
            created=now,
        )
        if made.next_run > now + LONGEST or made.next_run < now - LONGEST:
            raise UsageError("the start is more than ten years away", where="/start")
        made = replace(made, next_run=_next_run(made.next_run, every, now) if made.next_run < now else made.next_run)
        self._store({**self._all, made.id: made})
        return made

    def remove(self, identity: str) -> ScheduleInfo:
        """Delete a schedule; a job that it started goes on."""
        found = self.one(identity)
        self._store({key: each for key, each in self._all.items() if key != identity})
        return found

    def _store(self, schedules: dict[str, ScheduleInfo]) -> None:
        LocalStorage(self._state).replace(_FILE, msgspec.json.encode(list(schedules.values())))
        self._all = schedules

    def run_due(self) -> None:
        """Start the jobs that are due. One whose crawl is busy stays due."""
        now = self._clock()
        for each in self.all():
            if each.next_run > now:
                continue
            changed = self._run(each, now)
            if changed != each and each.id in self._all:
                self._store({**self._all, each.id: changed})

    def _run(self, schedule: ScheduleInfo, now: datetime) -> ScheduleInfo:
        request = JobRequest(
            crawl=schedule.crawl,
            command=schedule.command,
            options=schedule.options,
            settings=schedule.settings,
            schedule=schedule.id,
        )
        after = _next_run(schedule.next_run, interval(schedule.every), now)
        try:
            job = self._jobs.start(request)
        except (CrawlBusy, TooManyJobs, ShareExceeded) as error:
            return replace(schedule, problem=f"waiting: {error.message}")
        except UserError as error:
            _log.warning("the job of schedule %s was not started: %s", schedule.id, error)
            return replace(schedule, next_run=after, problem=error.message)
        return replace(schedule, next_run=after, last_run=now, last_job=job.id, problem="")

    async def run(self, every: float = 5.0) -> None:
        """Start jobs that are due, until cancelled."""
        while True:
            try:
                self.run_due()
            except UserError as error:  # the disk is full: the schedule stays due
                _log.warning("schedules: %s", error)
            await asyncio.sleep(every)


def interval(text: str) -> timedelta:
    """Return the time between two runs.

    >>> interval("12h")
    datetime.timedelta(seconds=43200)
    """
    try:
        found = read_duration(text)
    except ValueError:
        found = timedelta()
    if not SHORTEST <= found <= LONGEST:
        raise UsageError("the time between runs must be 1 minute to 10 years", where="/every")
    return found


def _next_run(last: datetime, every: timedelta, now: datetime) -> datetime:
    """Return the first time after now on the schedule, so that missed runs are made up for only once.

    >>> day = timedelta(days=1)
    >>> _next_run(datetime(2026, 1, 1, 6), day, datetime(2026, 1, 4, 7)).isoformat()
    '2026-01-05T06:00:00'
    """
    return last + every * (1 + max(0, (now - last) // every))


def _read(file: Path) -> list[ScheduleInfo]:
    try:
        with disk_errors("read the schedules", file):
            data = file.read_bytes() if file.exists() else b"[]"
        return msgspec.json.decode(data, type=list[ScheduleInfo])
    except msgspec.DecodeError as error:
        raise UserError(f"the file is damaged: {error}", where=str(file), hint="Fix or remove it.") from error
