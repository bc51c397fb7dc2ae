"""The commands that can be run as jobs: the port to the command line, and errors in orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from scoter.batch.api.records import CommandInfo
from scoter.errors import UsageError

CREATING: Final = frozenset({"merge", "mergedb", "mergelinkdb", "mergesegs"})
"""Commands that write to a new crawl, which starting the job creates."""

IMPORTING: Final = frozenset({"import-nutch-crawl"})
"""Commands that make a crawl, which does not exist before they have succeeded."""


class OrderError(UsageError):
    """A command, option or setting of a job that is not accepted; ``accepted`` are the names or values that are."""

    def __init__(self, message: str, *, pointer: str, accepted: Sequence[str] = ()) -> None:
        super().__init__(message, where=pointer)
        self.accepted = tuple(accepted)


class CommandCatalogue(Protocol):
    """The commands, derived from the command line: nothing is declared twice."""

    def commands(self) -> Sequence[CommandInfo]:
        """Return the commands that can be run as jobs."""

    def settings(self) -> Sequence[str]:
        """Return the names of the settings that jobs accept; others are for the operator of the server."""

    def arguments(
        self,
        command: str,
        directory: Path,
        options: Mapping[str, Any],
        settings: Mapping[str, Any],
        save_list: Callable[[str, Sequence[str]], Path],
    ) -> Sequence[str]:
        """Return the command line of a job, or raise ``OrderError``.

        Settings are not part of it: ``environment`` has them. ``save_list`` writes a list of URLs to a file: no option
        names a file of the server.
        """

    def environment(self, settings: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the settings of the server and of a job as environment variables.

        Other users of the machine can read the command line of a process, but not its environment.
        """
