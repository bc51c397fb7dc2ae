"""The plan that every process of a service gets, and the files of a service."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from scoter.config import Config
from scoter.errors import UsageError
from scoter.live.fetching.pool import MAX_FOLDER_BYTES
from scoter.store.disk import check_utf8_path, disk_errors

_ELSEWHERE: Final = Path("/tmp")  # noqa: S108 - the folder in it is checked to be ours alone
_SECRET: Final = 32


class ServiceFolder(Struct, frozen=True):
    """The directory of a service."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "service.sqlite"

    @property
    def history(self) -> Path:
        return self.root / "history.json"

    @property
    def sessions(self) -> Path:
        return self.root / "sessions.json"

    @property
    def content(self) -> Path:
        return self.root / "content"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def run(self) -> Path:
        """The folder of sockets and locks; it is needed only while processes run.

        Paths of sockets must be short. If the directory's path is too long, the folder is elsewhere, always at the same
        path: a service that starts must find the processes that an earlier one left.
        """
        near = self.root / "run"
        if len(os.fsencode(near)) <= MAX_FOLDER_BYTES:
            return near
        mark = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return _ELSEWHERE / f"scoter-{os.geteuid()}-{mark}"

    @property
    def socket(self) -> Path:
        return self.run / "core.sock"

    @property
    def metrics_socket(self) -> Path:
        return self.run / "tally.sock"

    @property
    def ready(self) -> Path:
        """A file touched every few seconds while the service is ready: the health check of roles without a port."""
        return self.run / "ready"

    @property
    def secret_path(self) -> Path:
        return self.root / "webhook.secret"

    @property
    def traces(self) -> tuple[Path, ...]:
        """What exists only if the directory has had a database."""
        return self.content, self.log, self.history

    def create(self, *, has_log: bool = True) -> None:
        """Create what does not exist yet; ``has_log`` if the process writes the log of outcomes."""
        check_utf8_path(self.root)
        with disk_errors("create the service's directory", self.root):
            # It contains messages, callbacks and responses. The mode of an existing directory is not changed.
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if has_log:
                self.log.mkdir(exist_ok=True)
            self.run.mkdir(mode=0o700, exist_ok=True)
            found = self.run.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise UsageError(
                "the folder for the service's sockets belongs to another user, or is accessible to others",
                where=str(self.run),
                hint="Remove it, or choose another directory for the service.",
            )

    def secret(self) -> bytes:
        """Return the secret that signs callbacks; created on first use."""
        path = self.secret_path
        with disk_errors("read the secret of callbacks", path):
            if not path.exists():
                draft = path.with_suffix(".new")
                draft.unlink(missing_ok=True)
                opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(opened, "w") as file:
                    file.write(secrets.token_hex(_SECRET) + "\n")
                draft.rename(path)
            found = path.read_bytes().strip()
        if not found:
            raise UsageError("the secret is empty", where=str(path), hint="Write a secret to the file, or remove it.")
        return found


class ServiceRole(StrEnum):
    """Which part of a service runs here; all but the first need ``live.backend = "cluster"``."""

    ALL = "all"
    API = "api"
    PIPELINE = "pipeline"
    WORKER = "worker"


class ServicePlan(Struct, frozen=True, kw_only=True):
    """A service: its settings, its directory, its access rules, and which part of it runs here."""

    config: Config
    root: str
    needs_keys: bool = False
    any_host: bool = False
    level: str = "INFO"
    role: ServiceRole = ServiceRole.ALL
    is_restart: bool = False
    """Whether the process that gets this plan replaces one that ended."""

    @property
    def folder(self) -> ServiceFolder:
        return ServiceFolder(Path(self.root))
