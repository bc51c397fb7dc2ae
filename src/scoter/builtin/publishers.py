"""The built-in publisher: events as lines of JSON, to a file or to stdout."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from scoter.config import Setting
from scoter.errors import ConfigError
from scoter.plugins import Setup

LONGEST_LINE = 64 * 1024

_log = logging.getLogger(__name__)


class FilePublisherSettings(Struct, frozen=True):
    """Where the events go."""

    path: Annotated[
        Path | None,
        Setting('File to append events to; "-" or an empty string means stdout.', none="", example='"events.jsonl"'),
    ] = None


class FilePublisher:
    """Writes each event as a line of JSON with its time, its name and its facts.

    Each line is appended in a single write, so several processes can share a file. A failed write is logged once and
    does not stop the fetch.
    """

    Settings = FilePublisherSettings

    def __init__(self, setup: Setup, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        settings: FilePublisherSettings = setup.settings or FilePublisherSettings()
        self._path = None if settings.path is None or settings.path.name in ("", "-") else settings.path
        self._now = now
        self._descriptor = None if self._path is None else _opened(self._path)
        self.lost = 0

    def __repr__(self) -> str:
        return f"FilePublisher({self._path or 'stdout'}, {self.lost} events lost)"

    def publish(self, event: str, facts: Mapping[str, Any]) -> None:
        line = self._line(event, facts)
        try:
            if self._descriptor is None:
                sys.stdout.write(line.decode())
                sys.stdout.flush()
            elif os.write(self._descriptor, line) != len(line):
                raise OSError("only part of the line was written")
        except (OSError, ValueError) as error:  # ValueError: stdout was closed
            if self.lost == 0:
                _log.warning("cannot write events to %s: %s", self._path or "stdout", error)
            self.lost += 1

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _line(self, event: str, facts: Mapping[str, Any]) -> bytes:
        head = {"time": self._now().isoformat(timespec="milliseconds"), "event": event}
        line = msgspec.json.encode({**head, **facts, **head}, enc_hook=str) + b"\n"
        if len(line) > LONGEST_LINE:
            line = msgspec.json.encode({**head, "left_out": f"{len(line)} bytes of facts"}) + b"\n"
        return line


def _opened(path: Path) -> int:
    try:
        # O_NONBLOCK: opening a named pipe without a reader would otherwise block the fetch forever.
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise ConfigError(
            f"cannot write to {path}: {error.strerror}",
            where="plugin.publisher-file.path",
            hint='Name a file in a folder that exists, or "-" for stdout.',
        ) from error
