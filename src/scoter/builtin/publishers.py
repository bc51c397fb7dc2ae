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
        Setting('File that events are added to; "-" or nothing means stdout.', none="", example='"events.jsonl"'),
    ] = None


class FilePublisher:
    """Writes each event as a line of JSON with its time, its name and its facts.

    A line is added by one write, so that several processes may share a file. An event that fails to be written is told
    of once; the fetch is worth more than the account of it, and goes on.
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
                raise OSError("the disk took only a part of it")
        except (OSError, ValueError) as error:  # ValueError: stdout was closed
            if self.lost == 0:
                _log.warning("events can no longer be written to %s: %s", self._path or "stdout", error)
            self.lost += 1

    def close(self) -> None:
        """Let go of the file."""
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
        # Without waiting: a named pipe that nobody reads would otherwise hold up the fetch for ever.
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written to: {error.strerror}",
            where="plugin.publisher-file.path",
            hint='Name a file in a folder that exists, or "-" for stdout.',
        ) from error
