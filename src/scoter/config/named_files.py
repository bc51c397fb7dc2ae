"""Reading the files of lines that settings name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scoter.core.display import size
from scoter.errors import RuleError, UsageError

LARGEST: Final = 16 * 1024 * 1024


def lines_of(
    path: Path, setting: str, *, largest: int = LARGEST, too_large: str = "Name a smaller file."
) -> tuple[str, ...]:
    """Return the lines of the file that a setting names, without line ends; ``too_large`` is a hint."""
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror or error}",
            where=setting,
            hint="Name a file that exists and is readable.",
        ) from error
    if len(data) > largest:
        raise UsageError(f"{path} is larger than {size(largest)}", where=setting, hint=too_large)
    return lines_in(data, str(path))


def lines_in(data: bytes, source: str) -> tuple[str, ...]:
    """Return the lines of a file's bytes, without line ends."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleError("is not UTF-8", file=source, line=line, hint="Save the file as UTF-8.") from error
    # Not splitlines(): it breaks lines at form feeds and other characters that editors do not count.
    return tuple(line.removesuffix("\r") for line in text.split("\n"))
