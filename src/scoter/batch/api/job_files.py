"""The files of jobs: record, log, result, exit code, and the lock that tells whether a job is alive.

```
.scoter/jobs/20261117T091500-3f2a/
  job.json     the record: command, options, start
  log          what the job printed for people
  result       what it printed with --json
  seeds        lists of URLs that were part of the order
  exit         its exit code, written when it ends
  stopping     present once it was asked to stop
  LOCK         held by the processes of the job as long as one of them lives
```
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from scoter.batch.api.records import JobInfo, JobState
from scoter.secrets import without_userinfo
from scoter.store.disk import disk_errors, try_lock
from scoter.store.tables.local import LocalStorage

_ID: Final = re.compile(r"\d{8}T\d{12}-[0-9a-f]{4}")
_TAIL: Final = 256 * 1024  # bytes of a log or result that are read
_LAST_LINES: Final = 20
# The exit codes of commands, as `scoter --help` lists them.
_NOTHING_TO_DO: Final = 1
_INTERRUPTED: Final = 130


class JobRecord(Struct, frozen=True, kw_only=True):
    """What is known about a job when it starts."""

    id: str
    crawl: str
    command: str
    options: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    started: datetime
    pid: int = 0
    schedule: str = ""
    owner: str = ""


def new_job_id(now: datetime) -> str:
    """Return an ID; IDs sort by time."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(2)}"


class JobFiles:
    """The folder of one job."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = folder.name
        self.log = folder / "log"
        self.result = folder / "result"
        self.exit = folder / "exit"
        self.lock = folder / "LOCK"

    def create(self) -> None:
        with disk_errors("create the folder of a job", self.folder):
            self.folder.mkdir(parents=True)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, record: JobRecord) -> None:
        """Store the record durably."""
        LocalStorage(self.folder).replace("job.json", msgspec.json.encode(record))

    def read(self) -> JobRecord | None:
        """Return the record; ``None`` if it is missing or damaged."""
        try:
            return msgspec.json.decode((self.folder / "job.json").read_bytes(), type=JobRecord)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def save_list(self, name: str, lines: Sequence[str]) -> Path:
        """Write a list of URLs, one per line."""
        path = self.folder / name
        with disk_errors("write the list", path):
            path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return path

    def mark_stopping(self) -> None:
        with suppress(OSError):
            (self.folder / "stopping").touch()

    @property
    def is_stopping(self) -> bool:
        return (self.folder / "stopping").exists()

    def is_alive(self) -> bool:
        """Return whether a process of the job lives: it holds the lock, which ends with it."""
        try:
            handle = os.open(self.lock, os.O_RDONLY)
        except OSError:
            return False
        try:
            return not try_lock(handle)
        finally:
            os.close(handle)

    def exit_code(self) -> int | None:
        with suppress(OSError, ValueError):
            return int(self.exit.read_text().strip())
        return None

    def state(self, command: str) -> JobState:
        """Return the state of the job, from its lock and its exit code; a crawl that fetched nothing has failed."""
        if self.is_alive():
            return "stopping" if self.is_stopping else "running"
        match self.exit_code():
            case 0:
                return "succeeded"
            case code if code == _INTERRUPTED:
                return "stopped"
            case code if code == _NOTHING_TO_DO:
                return "failed" if command == "crawl" else "nothing-to-do"
            case _:
                return "stopped" if self.is_stopping else "failed"

    def ended(self) -> datetime | None:
        """Return when the job ended; if it was killed, when it last printed something."""
        for file in (self.exit, self.log):
            with suppress(OSError):
                return datetime.fromtimestamp(file.stat().st_mtime, UTC)
        return None

    def last_lines(self, most: int = _LAST_LINES) -> list[str]:
        """Return the end of the log."""
        return without_userinfo(_tail(self.log).decode("utf-8", "replace")).splitlines()[-most:]

    def info(self, record: JobRecord, *, details: bool = False) -> JobInfo:
        """Return the job as the API shows it; ``details`` adds the end of the log and the result."""
        state = self.state(record.command)
        is_over = state not in ("running", "stopping")
        return JobInfo(
            id=record.id,
            crawl=record.crawl,
            command=record.command,
            state=state,
            options=record.options,
            settings=record.settings,
            started=record.started,
            ended=self.ended() if is_over else None,
            exit_code=self.exit_code() if is_over else None,
            schedule=record.schedule,
            result=self._result() if details else None,
            last_lines=self.last_lines() if details or state in ("failed", "nothing-to-do") else [],
        )

    def _result(self) -> Any:
        """Return the last object that the job printed."""
        lines = without_userinfo(_tail(self.result).decode("utf-8", "replace")).splitlines()
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return msgspec.json.decode(lines[-1]) if lines else None
        return None


def job_folders(folder: Path) -> list[JobFiles]:
    """Return all jobs, newest first."""
    try:
        found = [each for each in folder.iterdir() if is_job_id(each.name)]
    except FileNotFoundError:
        return []
    return [JobFiles(each) for each in sorted(found, reverse=True)]


def is_job_id(text: str) -> bool:
    """Return whether a text has the form of an ID, so that it is safe as a file name."""
    return _ID.fullmatch(text) is not None


def _tail(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            opened.seek(max(0, size - _TAIL))
            return opened.read(_TAIL)
    except OSError:
        return b""
