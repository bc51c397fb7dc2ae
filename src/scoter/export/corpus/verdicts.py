"""Which texts of a corpus are kept, and why the others are dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct

from scoter.config.sections.corpus import CorpusSettings
from scoter.engine import Engine, TableSource
from scoter.export.corpus.measurements import NOINDEX, MeasuredFiles
from scoter.export.corpus.minhash import BANDS, EXACT, DuplicateGroups, MinHasher
from scoter.export.corpus.quality import QualityRule, TextMeter, rules_of
from scoter.export.page_rows import RowFiles

SAME_TEXT: Final = "same_text"
NEAR_DUPLICATE: Final = "near_duplicate"
_PAIRS: Final = 10_000  # compared at a time


class CorpusRule(Struct, frozen=True):
    """Why pages are dropped: a name, the reason in words, and the option or setting with which they are kept."""

    name: str
    text: str
    option: str
    applies: Callable[[Any], Any]
    """Returns to which of given rows it applies: an array of rows, or a slice of all."""


class Verdicts:
    """The verdict on every text, by its row.

    ``best`` is the row that a text repeats, or its own; that one is kept, unless it breaks a rule.
    """

    def __init__(self, broken: Any, groups: tuple[Any, Any], rules: Sequence[QualityRule]) -> None:
        self.broken = broken
        rows = np.arange(len(broken), dtype=np.int64)
        exact, self.best = groups
        self._same = exact != rows
        self._near = (self.best != rows) & ~self._same
        self._rules = rules

    def __len__(self) -> int:
        return len(self.broken)

    def reasons(self, *, same: bool = True, near: bool = True) -> Iterator[CorpusRule]:
        """Yield every reason to drop a text; those about repeated texts only if such texts are not kept."""
        yield CorpusRule("noindex", "forbids indexing (noindex)", "--include-noindex", partial(self._has, NOINDEX))
        for number, rule in enumerate(self._rules):
            yield CorpusRule(rule.name, rule.reason, f"-D corpus.{rule.name}=off", partial(self._has, number))
        if same:
            yield CorpusRule(SAME_TEXT, "same text as another page", "--keep-duplicates", self._same.__getitem__)
        if near:
            text = "nearly the same text as another page"
            yield CorpusRule(NEAR_DUPLICATE, text, "--keep-near-duplicates", self._near.__getitem__)

    def _has(self, bit: int, rows: Any) -> Any:
        return (self.broken[rows] >> np.int64(bit) & 1).astype(bool)

    def is_dropped(self, *, same: bool, near: bool) -> Any:
        """Return which texts are dropped, if those that repeat another are."""
        return (self.broken != 0) | (self._same & same) | (self._near & near)

    def is_alone(self) -> Any:
        """Return which texts have a single reason: they would be kept without it."""
        rest = self.broken & (self.broken - 1)
        return rest == 0

    def counts(self, *, same: bool, near: bool) -> dict[str, int]:
        """Return the number of texts that are dropped because they are poor, or repeat another."""
        found = {"poor": self.broken != 0, "exact_duplicates": self._same & same, "near_duplicates": self._near & near}
        return {name: int(np.count_nonzero(mask)) for name, mask in found.items()}


def verdicts(
    engine: Engine, pages: RowFiles, measured: MeasuredFiles, settings: CorpusSettings, scratch: Path
) -> Verdicts:
    """Judge pages that are measured."""
    ranks, broken = measured.ranks_and_verdicts()
    exact, best = _groups(engine, measured.bands, ranks)
    rows = np.arange(len(best))
    near = np.flatnonzero((best != rows) & (exact == rows))
    best[near] = np.where(
        _similarity(pages, near, best[near], settings, scratch) < settings.min_similarity, near, best[near]
    )
    return Verdicts(broken, (exact, best[exact]), rules_of(settings))


def _similarity(pages: RowFiles, rows: Any, others: Any, settings: CorpusSettings, scratch: Path) -> Any:
    """Estimate for texts by row how much each of them has in common with another one."""
    if not len(rows):
        return np.zeros(0)
    hasher = MinHasher(settings.minhash_bands, settings.minhash_rows, settings.shingle_words)
    meter, wanted = TextMeter(), np.union1d(rows, others)
    # On disk: there may be nearly as many as pages.
    signatures = np.memmap(scratch, np.uint32, "w+", shape=(len(wanted), hasher.size))
    at = 0
    for batch in pages.pick(wanted, ["content"]):
        for text in batch.column("content").to_pylist():
            signatures[at] = hasher.signature(meter.tokens(text or ""))
            at += 1
    found = np.zeros(len(rows))
    for start in range(0, len(rows), _PAIRS):
        pairs = [np.searchsorted(wanted, each[start : start + _PAIRS]) for each in (rows, others)]
        found[start : start + _PAIRS] = (signatures[pairs[0]] == signatures[pairs[1]]).mean(axis=1)
    return found


def _groups(engine: Engine, files: tuple[str, ...], ranks: Any) -> tuple[Any, Any]:
    """Return the best of the texts that are the same as each text, and of those that may be nearly the same."""
    groups = DuplicateGroups(ranks)
    if not files:
        return groups.best(), groups.best()
    rows = engine.read(TableSource(files=files, schema=BANDS, defaults={}))
    groups.link(engine.batches(_links(rows.filter(rows.band == EXACT))))
    exact = groups.best()
    groups.link(engine.batches(_links(rows.filter(rows.band != EXACT))))
    return exact, groups.best()


def _links(rows: Any) -> Any:
    # Every text of a group is linked to one of them: many equal texts give many links, but not all pairs.
    shared = rows.group_by(["band", "bits"]).agg(one=rows.row.min(), number=rows.count())
    shared = shared.filter(shared.number > 1)
    links = rows.join(shared, ["band", "bits"])
    return links.filter(links.row != links.one).select("one", other=links.row)
