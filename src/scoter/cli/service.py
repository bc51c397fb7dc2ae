"""What the commands that speak to a live service have in common: how it is found, how times and files are given."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from scoter.errors import UsageError


def service_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options by which a command finds the service, and tell of its errors which service it was."""
    command = click.option(
        "--key", envvar="SCOTER_KEY", default="", metavar="KEY", help="The API key (SCOTER_KEY), where one is needed."
    )(_naming_the_service(command))
    return click.option(
        "--server",
        envvar="SCOTER_SERVER",
        default="http://127.0.0.1:8008",
        show_default=True,
        metavar="URL",
        help="Where the service is (SCOTER_SERVER).",
    )(command)


def _naming_the_service(command: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def told(*arguments: Any, **options: Any) -> Any:
        from scoter.client import ClientError

        try:
            return command(*arguments, **options)
        except ClientError as error:
            error.where = error.where or options["server"]
            raise

    return told


def seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float:
    """Return the seconds that an option such as ``5s`` stands for."""
    from scoter.config.units import read_duration

    try:
        return read_duration(value).total_seconds() if value else 0.0
    except ValueError as error:
        raise UsageError(f"{value!r} {error}", where=parameter.opts[0], hint="For example: 5s, 500ms, 2m") from None


def counted(number: int, what: str) -> str:
    """Return a number of things.

    >>> counted(1, "URL"), counted(2000, "URL")
    ('1 URL', '2,000 URLs')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def size_of(descriptor: int | None) -> int:
    """Return how many bytes are to be read, or nothing where that is not known."""
    found = os.fstat(descriptor) if descriptor is not None else None
    return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else 0


def opened(file: Path | None) -> int:
    """Open the file whose lines are to be read, or standard input; return its descriptor."""
    if file is None or str(file) == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise UsageError("standard input is closed")
        return sys.stdin.fileno()
    try:
        descriptor = os.open(file, os.O_RDONLY)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return descriptor
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(file)) from error
