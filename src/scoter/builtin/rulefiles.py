"""Reading rule files: those that the configuration names, and those that ship with Scoter."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from scoter.core.pattern import PATIENCE, Pattern
from scoter.errors import ConfigError, RuleError, UsageError

LARGEST_FILE: Final = 64 * 1024 * 1024


class RuleFile(Struct, frozen=True):
    """The lines of a rule file, and the name under which errors speak of it."""

    source: str
    lines: tuple[str, ...]


class SlowRule(Protocol):
    """A rule whose pattern backtracks."""

    @property
    def line(self) -> int: ...
    @property
    def pattern(self) -> Pattern | None: ...


def read_rules(path: Path | None, setting: str, shipped: str = "", largest: int = LARGEST_FILE) -> RuleFile:
    """Read the file that a setting names, or the shipped one where it names none."""
    if path is None and not shipped:
        raise ConfigError(
            "is empty, but a plug-in that needs its rules is active",
            where=setting,
            hint=f"Name a rule file, for example with -D {setting}=FILE, or take the plug-in out of its chain.",
        )
    if path is None:
        return RuleFile(
            f"scoter:{shipped}", _lines(files("scoter.builtin").joinpath("rules", shipped).read_bytes(), shipped)
        )
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror or error}",
            where=setting,
            hint="Name a file that exists and may be read.",
        ) from error
    if len(data) > largest:
        raise UsageError(
            f"{path} is larger than {largest:,} bytes",
            where=setting,
            hint="Split the rules, or use the filters domain and fast, which take less room for a rule.",
        )
    return RuleFile(str(path), _lines(data, str(path)))


def slow_warnings(rules: Iterable[SlowRule], source: str) -> tuple[str, ...]:
    """Say which rules may cost time beyond the length of a URL."""
    return tuple(
        f"{source}:{rule.line}: the pattern {rule.pattern.text if rule.pattern else ''} needs backtracking;"
        f" URLs on which it takes more than {PATIENCE * 1000:.0f} ms are dropped"
        for rule in rules
    )


def _lines(data: bytes, source: str) -> tuple[str, ...]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleError("is not UTF-8", file=source, line=line, hint="Save the file as UTF-8.") from error
    # Not splitlines(): it breaks lines at form feeds and other characters that editors do not count.
    return tuple(line.removesuffix("\r") for line in text.split("\n"))
