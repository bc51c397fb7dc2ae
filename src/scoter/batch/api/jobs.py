"""Runs commands on crawls in their own processes, which go on when the server ends and are found again when it starts.

A job is a session of processes led by a shell, which records the exit code of the command. Its files say everything
about it (``job_files``), so the server keeps no state of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.api.commands import IMPORTING, CommandCatalogue
from scoter.batch.api.crawl_folder import CrawlFolder, NoSuchCrawl
from scoter.batch.api.job_files import JobFiles, JobRecord, is_job_id, job_folders, new_job_id
from scoter.batch.api.records import JobInfo
from scoter.batch.crawldir.directory import JOB_VARIABLE
from scoter.core.bounded import BoundedMap
from scoter.errors import Unavailable, UsageError, UserError
from scoter.http.shares import Shares
from scoter.secrets import masked
from scoter.store.disk import disk_error, try_lock
from scoter.store.tables.storage import Holder

MAX_JOBS: Final = 1_000
"""Records that are kept; those of the oldest finished jobs are removed."""
MAX_RUNNING: Final = 16
_SHOWN: Final = 20
ELSEWHERE: Final = "elsewhere"
"""The ID of a command that this server did not start."""
# The shell waits for the command even if both get a signal. $? is at least 128 if a signal ended it.
_SCRIPT: Final = 'trap : INT TERM HUP; out=$1; shift; "$@"; code=$?; echo $code > "$out.new" && mv "$out.new" "$out"'


class CrawlBusy(UsageError):
    """Another job is changing the crawl."""


class TooManyJobs(UsageError):
    """As many jobs as allowed are running."""


class NoSuchJob(UsageError):
    """There is no such job."""


class JobRequest(Struct, frozen=True, kw_only=True):
    """A command to run on a crawl; ``schedule`` is the ID of the schedule that asks for it, else ``owner`` does."""

    crawl: str
    command: str
    options: Mapping[str, Any] = {}
    settings: Mapping[str, Any] = {}
    schedule: str = ""
    owner: str = ""


class Jobs:
    """All jobs of a folder."""

    def __init__(
        self,
        folder: CrawlFolder,
        catalogue: CommandCatalogue,
        program: Sequence[str],
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        max_jobs: int = MAX_JOBS,
        max_running: int = MAX_RUNNING,
        share: float = 1.0,
    ) -> None:
        """``program`` starts the command line, with options that apply to every job.

        ``share`` is the part of the running jobs that one caller may have; all schedules together count as one.
        """
        self._folder = folder
        self._catalogue = catalogue
        self._program = list(program)
        self._clock = clock
        self._max_jobs = max_jobs
        self._max_running = max_running
        self._shares = Shares("jobs", max_running, share)
        self._root = folder.state / "jobs"
        self._children: dict[str, int] = {}
        # Records never change once a job has started.
        self._records: BoundedMap[str, JobRecord] = BoundedMap(2 * max_jobs)

    def check(self, request: JobRequest, directory: Path) -> None:
        """Raise if the command, its options or its settings are not accepted."""
        self._catalogue.arguments(
            request.command, directory, request.options, request.settings, lambda name, lines: Path(name)
        )

    def start(self, request: JobRequest) -> JobInfo:
        """Start a job; raise ``CrawlBusy`` if another one is changing the crawl."""
        is_import = request.command in IMPORTING
        path = self._folder.new_path(request.crawl) if is_import else self._folder.path(request.crawl)
        self.check(request, path)
        self._check_free(request)
        now = self._clock()
        files = JobFiles(self._root / new_job_id(now))
        self._clean_up()
        try:
            files.create()
            arguments = self._catalogue.arguments(
                request.command, path, request.options, request.settings, files.save_list
            )
            record = JobRecord(
                id=files.id,
                crawl=request.crawl,
                command=request.command,
                options={name: masked(name, _shortened(value)) for name, value in request.options.items()},
                settings={name: masked(name, value) for name, value in request.settings.items()},
                started=now,
                schedule=request.schedule,
                owner=request.owner,
            )
            files.write(record)
            pid = self._spawn(files, arguments, self._catalogue.environment(request.settings))
            self._children[files.id] = pid
            try:
                files.write(replace(record, pid=pid))
            except UserError:
                os.killpg(pid, signal.SIGKILL)
                raise
        except OSError as error:
            files.remove()
            raise Unavailable(disk_error("start the job", files.folder, error).message) from error
        except UserError as error:
            files.remove()
            if type(error) is UserError:  # a full disk
                raise Unavailable(error.message, where=error.where, hint=error.hint) from error
            raise
        return files.info(record)

    def _spawn(self, files: JobFiles, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
        lock = os.open(files.lock, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            try_lock(lock)
            with files.log.open("ab") as log, files.result.open("ab") as result:
                child = subprocess.Popen(  # noqa: S603 - the arguments were validated, and no shell reads them
                    ["/bin/sh", "-c", _SCRIPT, "scoter-job", str(files.exit), *self._program, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=result,
                    stderr=log,
                    env={**os.environ, **environment, JOB_VARIABLE: files.id},
                    start_new_session=True,
                    pass_fds=(lock,),
                )
                child.returncode = 0  # it may outlive this process; ``reap`` waits for it by its number
                return child.pid
        finally:
            os.close(lock)

    def _check_free(self, request: JobRequest) -> None:
        crawl = request.crawl
        running = [job for job in self.running() if job.state != ELSEWHERE]
        found = next((job for job in running if job.crawl == crawl), None)
        if found is not None:
            raise CrawlBusy(f"the job {found.id} ({found.command}) is running on this crawl", where=crawl)
        holder = self._holder(crawl)
        if holder is not None:
            raise CrawlBusy(f"the crawl is being changed by {holder}", where=crawl)
        if len(running) >= self._max_running:
            raise TooManyJobs(f"{self._max_running} jobs are running already")
        records = [self._record(JobFiles(self._root / job.id)) for job in running]
        self._shares.compare(sum(each is not None and each.owner == request.owner for each in records))

    def running(self) -> list[JobInfo]:
        """Return the jobs that are running, newest first."""
        return [
            files.info(record)
            for files in job_folders(self._root)
            if not files.exit.exists() and files.is_alive() and (record := self._record(files)) is not None
        ]

    def all(self, crawl: str = "", most: int = 100) -> list[JobInfo]:
        """Return jobs, newest first; those of one crawl include a command that was started elsewhere."""
        found: list[JobInfo] = []
        for files in job_folders(self._root):
            record = self._record(files)
            if record is not None and (not crawl or record.crawl == crawl):
                found.append(files.info(record))
                if len(found) == most:
                    break
        other = self.elsewhere(crawl, found) if crawl else None
        return found if other is None else [other, *found]

    def elsewhere(self, crawl: str, known: Sequence[JobInfo]) -> JobInfo | None:
        """Return the command that holds the lock of a crawl, unless it is one of the known jobs."""
        if any(job.state in ("running", "stopping") for job in known):
            return None
        holder = self._holder(crawl)
        if holder is None:
            return None
        return JobInfo(
            id=ELSEWHERE,
            crawl=crawl,
            command=holder.command,
            state="elsewhere",
            started=holder.started,
            holder=str(holder),
        )

    def _holder(self, crawl: str) -> Holder | None:
        with suppress(NoSuchCrawl):  # it is being imported
            return self._folder.holder(crawl)
        return None

    def latest(self, crawl: str) -> JobInfo | None:
        """Return the running or the last job of a crawl."""
        return next(iter(self.all(crawl, 1)), None)

    def one(self, crawl: str, identity: str) -> JobInfo:
        """Return a job of a crawl, with its result and the end of its log."""
        if identity == ELSEWHERE:
            other = self.elsewhere(crawl, self.all(crawl, 1)[-1:])
            if other is not None:
                return other
        files, record = self._find(crawl, identity)
        return files.info(record, details=True)

    def log(self, crawl: str, identity: str, lines: int) -> list[str]:
        """Return the last lines that a job printed for people."""
        return self._find(crawl, identity)[0].last_lines(lines)

    def stop(self, crawl: str, identity: str, *, kill: bool = False) -> JobInfo:
        """Ask a job to stop, as Ctrl-C does; it is asked only once. ``kill`` ends its processes at once."""
        if identity == ELSEWHERE:
            hint = "Stop it where it was started, or create a file named STOP in the crawl directory."
            raise CrawlBusy("this command was not started by this server", where=crawl, hint=hint)
        files, record = self._find(crawl, identity)
        if files.is_alive() and record.pid:
            was_asked = files.is_stopping
            files.mark_stopping()
            if kill or not was_asked:
                # While a process of the job lives, no other group can have its number.
                with suppress(ProcessLookupError):
                    os.killpg(record.pid, signal.SIGKILL if kill else signal.SIGINT)
        return files.info(record, details=True)

    def reap(self) -> list[JobInfo]:
        """Return the jobs of this server that have ended since the last call."""
        ended = [JobFiles(self._root / identity) for identity, pid in self._children.items() if _has_ended(pid)]
        found = []
        for files in ended:
            if files.is_alive():  # one of its other processes
                continue
            del self._children[files.id]
            record = self._record(files)
            if record is not None:
                found.append(files.info(record))
        return found

    def _find(self, crawl: str, identity: str) -> tuple[JobFiles, JobRecord]:
        if is_job_id(identity):
            files = JobFiles(self._root / identity)
            record = self._record(files)
            if record is not None and record.crawl == crawl:
                return files, record
        raise NoSuchJob("there is no such job", where=f"{crawl}: {identity}")

    def _record(self, files: JobFiles) -> JobRecord | None:
        known = self._records.get(files.id)
        if known is None:
            known = files.read()
            if known is not None and known.pid:
                self._records.put(files.id, known)
        return known

    def _clean_up(self) -> None:
        """Remove the oldest finished jobs beyond the limit."""
        for files in job_folders(self._root)[self._max_jobs - 1 :]:
            if not files.is_alive():
                files.remove()


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _shortened(value: Any) -> Any:
    """Return a value without the rest of a long list, such as seeds: the record is shown in lists of jobs."""
    if not isinstance(value, list) or len(value) <= _SHOWN:
        return value
    return [*value[:_SHOWN], f"and {len(value) - _SHOWN:,} more"]
