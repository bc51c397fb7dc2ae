"""A finding: what was checked, how it is, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from msgspec import Struct

from scoter.errors import UserError


class FindingKind(StrEnum):
    """How something is."""

    OK = "ok"
    ADVICE = "advice"  # it works, but could be better
    FAULT = "fault"  # it must be mended


class Finding(Struct, frozen=True):
    """What was checked, how it is, what was found, and what to do."""

    check: str
    verdict: FindingKind
    found: str
    remedy: str = ""


class Findings:
    """The findings of a run, in order."""

    def __init__(self) -> None:
        self.all: list[Finding] = []

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.all)

    def ok(self, check: str, found: str) -> None:
        self.all.append(Finding(check, FindingKind.OK, found))

    def advise(self, check: str, found: str, remedy: str) -> None:
        self.all.append(Finding(check, FindingKind.ADVICE, found, remedy))

    def fault(self, check: str, found: str, remedy: str) -> None:
        self.all.append(Finding(check, FindingKind.FAULT, found, remedy))

    @contextmanager
    def faults_of(self, check: str, remedy: str = "") -> Iterator[None]:
        """Turn an error into a fault; ``remedy`` is what to do if the error does not say."""
        try:
            yield
        except UserError as error:
            found = f"{error.where}: {error.message}" if error.where else error.message
            self.fault(check, found, error.hint or remedy)

    @property
    def has_faults(self) -> bool:
        return any(each.verdict is FindingKind.FAULT for each in self.all)
