"""What a corpus keeps and drops, by rule, with an example of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from scoter.export.corpus.verdicts import CorpusRule, Verdicts


class RuleCount(Struct, frozen=True, kw_only=True):
    """A rule: the reason in words, the option that turns it off, and the pages it applies to.

    ``only``: how many of them have no other reason, so would be kept without it. ``example`` is one of those if any.
    """

    rule: str
    reason: str
    option: str
    pages: int
    only: int
    example: str = ""


class CorpusReport(Struct, frozen=True, kw_only=True):
    """How many pages were selected, dropped (``poor``: by a rule about single texts) and kept."""

    selected: int
    rules: tuple[RuleCount, ...]
    poor: int
    exact_duplicates: int
    near_duplicates: int
    kept: int


class ReasonCounts:
    """Counts what each reason applies to, and chooses its example."""

    def __init__(self, verdicts: Verdicts, reasons: tuple[CorpusRule, ...]) -> None:
        self._found = []
        alone = verdicts.is_alone()
        for reason in reasons:
            applies = reason.applies(slice(None))
            only = applies & alone
            examples = np.flatnonzero(only if only.any() else applies)
            row = int(examples[0]) if len(examples) else -1
            self._found.append((reason, int(np.count_nonzero(applies)), int(np.count_nonzero(only)), row))

    def examples(self) -> list[int]:
        """Return the rows of all examples."""
        return [row for *_, row in self._found if row >= 0]

    def rules(self, url: Callable[[int], str]) -> tuple[RuleCount, ...]:
        """Return the counts, given the URL of a row."""
        return tuple(
            RuleCount(
                rule=reason.name,
                reason=reason.text,
                option=reason.option,
                pages=pages,
                only=only,
                example=url(row) if row >= 0 else "",
            )
            for reason, pages, only, row in self._found
        )


def corpus_report(counts: Mapping[str, Any]) -> CorpusReport:
    """Return the report that the counts of a manifest hold."""
    return msgspec.convert(counts, CorpusReport)
