"""Reading rule files: those that the configuration names, and those that ship with Scoter."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from scoter.config.named_files import lines_in, lines_of
from scoter.core.pattern import PATIENCE, Pattern
from scoter.errors import ConfigError
from scoter.plugins import Setup

LARGEST_FILE: Final = 64 * 1024 * 1024


class RuleFile(Struct, frozen=True):
    """The lines of a rule file, and the name that errors use for it."""

    source: str
    lines: tuple[str, ...]


class SlowRule(Protocol):
    """A rule whose pattern backtracks."""

    @property
    def line(self) -> int: ...
    @property
    def pattern(self) -> Pattern | None: ...


def read_rules(path: Path | None, setting: str, shipped: str = "", largest: int = LARGEST_FILE) -> RuleFile:
    """Read the file that a setting names, or the shipped one if it names none."""
    if path is None and not shipped:
        raise ConfigError(
            "is empty, but a plug-in that needs its rules is active",
            where=setting,
            hint=f"Name a rule file, for example with -D {setting}=FILE, or remove the plug-in from its chain.",
        )
    if path is None:
        data = files("scoter.builtin").joinpath("rules", shipped).read_bytes()
        return RuleFile(f"scoter:{shipped}", lines_in(data, shipped))
    hint = "Split the rules, or use the filters domain and fast, which need less memory per rule."
    return RuleFile(str(path), lines_of(path, setting, largest=largest, too_large=hint))


def configured_rules(setup: Setup, setting: str, shipped: str = "") -> RuleFile:
    """Read the rule file of a setting such as ``urlfilter.regex_file``."""
    return read_rules(attrgetter(setting)(setup.config), setting, shipped)


def slow_warnings(rules: Iterable[SlowRule], source: str) -> tuple[str, ...]:
    """Return a warning for each rule that may take more than linear time."""
    return tuple(
        f"{source}:{rule.line}: the pattern {rule.pattern.text if rule.pattern else ''} needs backtracking;"
        f" URLs on which it takes more than {PATIENCE * 1000:.0f} ms are dropped"
        for rule in rules
    )
