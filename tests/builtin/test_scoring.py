"""The scoring plug-ins: hooks on records by example, and column hooks compared with them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scoter.builtin.scoring import DepthScoring, LinkScoring, OpicScoring
from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus, PartStatus
from scoter.core.page import Outlink, Page
from scoter.core.schedule import Schedule
from scoter.core.scoring import ScoringChain
from scoter.core.update import UpdateRules, update
from scoter.core.url import canonical
from scoter.plugins import Setup, chain

NOW = datetime(2026, 3, 1, tzinfo=UTC)
URL = canonical("http://example.com/a")
PAGE = Page(url=URL)
TARGETS = [Outlink(target=canonical("http://example.com/b")), Outlink(target=canonical("http://other.example/"))]


def setup(*overrides: str) -> Setup:
    return Setup(load(overrides=overrides))


def datum(score: float = 1.0, **extra: Any) -> CrawlDatum:
    return CrawlDatum(status=DbStatus.FETCHED, score=score, extra=extra)


class Cell:
    """One value of a table, with the operations that the column hooks use; results with None are None, as in SQL."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def _with(self, other: Any, work: Any) -> Cell:
        theirs = other.value if isinstance(other, Cell) else other
        return Cell(None if self.value is None or theirs is None else work(self.value, theirs))

    def __mul__(self, other: Any) -> Cell:
        return self._with(other, lambda a, b: a * b)

    def __add__(self, other: Any) -> Cell:
        return self._with(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Cell:
        return self._with(other, lambda a, b: a - b)

    def __pow__(self, other: Any) -> Cell:
        return self._with(other, lambda a, b: a**b)

    def __lt__(self, other: Any) -> Cell:
        return self._with(other, lambda a, b: a < b)

    def __gt__(self, other: Any) -> Cell:
        return self._with(other, lambda a, b: a > b)

    def __le__(self, other: Any) -> Cell:
        return self._with(other, lambda a, b: a <= b)

    def abs(self) -> Cell:
        return Cell(None if self.value is None else abs(self.value))

    def coalesce(self, other: Any) -> Cell:
        return self if self.value is not None else other if isinstance(other, Cell) else Cell(other)

    def clip(self, *, lower: float) -> Cell:
        return Cell(None if self.value is None else max(self.value, lower))

    def ifelse(self, yes: Any, no: Any) -> Any:
        return yes if self.value else no


class Row:
    """A table of one row."""

    def __init__(self, **cells: Any) -> None:
        for name, value in cells.items():
            setattr(self, name, Cell(value))


def value(found: Any) -> Any:
    return found.value if isinstance(found, Cell) else found


def test_opic_uses_the_configured_factors() -> None:
    opic = OpicScoring(setup("db.score_link_internal=0.5", "db.score_link_external=3.0"))

    assert [link.score for link in opic.distribute(URL, datum(2.0), PAGE, TARGETS, 5)] == [0.5, 3.0]
    assert opic.initial(URL, datum(5.0)).score == 0.0
    assert opic.sort_value(URL, datum(2.0), 1.5) == 3.0
    assert opic.index(URL, datum(9.0), 2.0) == 6.0


def test_scoring_filters_are_equal_if_their_settings_are() -> None:
    assert OpicScoring(setup()) == OpicScoring(setup())
    assert OpicScoring(setup()) != OpicScoring(setup("db.score_link_internal=0.5"))
    assert OpicScoring(setup()) != LinkScoring(setup())
    assert DepthScoring(setup()) == DepthScoring(setup())
    assert DepthScoring(setup()) != DepthScoring(setup("scoring.depth_max=3"))


SCORES = st.floats(0, 1e9)


@given(st.none() | SCORES, SCORES, st.none() | SCORES)
def test_opic_columns_agree_with_the_record_hooks(old: float | None, new: float, link: float | None) -> None:
    opic = OpicScoring(setup())
    before = None if old is None else datum(old)
    links = [] if link is None else [CrawlDatum(status=PartStatus.LINKED, score=link)]

    row = Row(old_score=old, score=new, link_score=link, sort_value=2.0, boost=1.5)

    assert value(opic.update_columns(row)["score"]) == opic.update(URL, before, datum(new), links, NOW).score
    assert value(opic.sort_value_columns(row)) == opic.sort_value(URL, datum(new), 2.0)
    assert value(opic.initial_columns(row)["score"]) == opic.initial(URL, datum(new)).score
    assert value(opic.index_columns(row)) == pytest.approx(opic.index(URL, datum(new), 1.5))


@given(st.none() | st.floats(0, 10), st.floats(0, 10), st.none() | st.floats(0, 10))
def test_link_scores_are_not_changed_by_updates(old: float | None, new: float, link: float | None) -> None:
    scoring = LinkScoring(setup())

    links = [] if link is None else [datum(link)]
    updated = scoring.update(URL, None if old is None else datum(old), datum(new), links, NOW)

    assert updated.score == (new if old is None else old)
    assert value(scoring.update_columns(Row(score=new, old_score=old, link_score=link))["score"]) == updated.score


def test_link_scores_order_fetch_lists_and_boost_documents() -> None:
    scoring = LinkScoring(setup())

    assert scoring.initial(URL, datum(4.0)).score == scoring.initial_columns(None)["score"] == 0.0
    assert scoring.sort_value(URL, datum(4.0), 2.0) == 8.0
    assert value(scoring.sort_value_columns(Row(score=4.0, sort_value=2.0))) == 8.0
    assert scoring.index(URL, datum(4.0), 2.0) == value(scoring.index_columns(Row(score=4.0, boost=2.0))) == 8.0


def test_seed_has_depth_one_and_may_set_its_own_limit() -> None:
    depth = DepthScoring(setup("scoring.depth_max=7"))
    own = CrawlDatum(status=PartStatus.INJECTED, metadata={"_maxdepth_": "3"})
    wrong = CrawlDatum(status=PartStatus.INJECTED, metadata={"_maxdepth_": "deep"})

    assert depth.injected(URL, own).extra == {"depth": 1, "max_depth": 3}
    assert depth.injected(URL, wrong).extra == {"depth": 1, "max_depth": 7}


def test_links_below_the_limit_are_dropped() -> None:
    depth = DepthScoring(setup("scoring.depth_max=3"))

    (first, _) = depth.distribute(URL, datum(depth=2, max_depth=3), PAGE, TARGETS, 2)

    assert first.extra == {"depth": 3, "max_depth": 3}
    assert depth.distribute(URL, datum(depth=3, max_depth=3), PAGE, TARGETS, 2) == ()
    assert depth.distribute(URL, datum(), PAGE, TARGETS, 2) == ()  # no depth: no seed leads to this page


def test_pages_that_match_the_pattern_pass_on_the_override_limit() -> None:
    depth = DepthScoring(setup('scoring.depth_override_pattern="/a$"', "scoring.depth_max_override=50"))

    (first, _) = depth.distribute(URL, datum(depth=1, max_depth=3), PAGE, TARGETS, 2)
    (other, _) = depth.distribute(canonical("http://example.com/b"), datum(depth=1, max_depth=3), PAGE, TARGETS, 2)

    assert (first.extra["max_depth"], other.extra["max_depth"]) == (50, 3)


def test_override_limit_applies_to_the_matching_page() -> None:
    deeper = DepthScoring(setup('scoring.depth_override_pattern="/a$"', "scoring.depth_max_override=50"))
    nearer = DepthScoring(setup('scoring.depth_override_pattern="/a$"', "scoring.depth_max_override=2"))

    assert len(deeper.distribute(URL, datum(depth=3, max_depth=3), PAGE, TARGETS, 2)) == 2
    assert nearer.distribute(URL, datum(depth=2, max_depth=3), PAGE, TARGETS, 2) == ()
    assert (
        DepthScoring(setup('scoring.depth_override_pattern="/a$"', "scoring.depth_max_override=5000")).distribute(
            URL, datum(), PAGE, TARGETS, 2
        )
        == ()
    )


DEPTHS = st.none() | st.integers(1, 50)


@given(DEPTHS, DEPTHS, DEPTHS, st.integers(1, 50), st.integers(1, 50), st.integers(1, 50))
def test_depth_columns_agree_with_the_record_hooks(
    old: int | None, new: int | None, link: int | None, old_max: int, new_max: int, link_max: int
) -> None:
    # given the same records as rows and as columns; a depth and its limit are known together or not at all
    def record(depth: int | None, limit: int) -> CrawlDatum:
        return datum() if depth is None else datum(depth=depth, max_depth=limit)

    row = Row(
        old_depth=old,
        old_max_depth=None if old is None else old_max,
        depth=new,
        max_depth=None if new is None else new_max,
        link_depth=link,
        link_max_depth=None if link is None else link_max,
        sort_value=1.0,
    )
    depth = DepthScoring(setup())
    before = record(old, old_max)
    links = [] if link is None else [record(link, link_max)]

    # when
    by_row = depth.update(URL, before, record(new, new_max), links, NOW).extra
    by_column = {name: value(cell) for name, cell in depth.update_columns(row).items()}

    # then
    assert {name: by_row.get(name) for name in by_column} == by_column
    assert value(depth.sort_value_columns(row)) == depth.sort_value(URL, record(new, new_max), 1.0)


def test_chain_of_built_in_filters_updates_a_record() -> None:
    config = load(overrides=['scoring.filters=["opic", "depth"]'])
    scoring = ScoringChain(chain("scoring", config))
    rules = UpdateRules(schedule=Schedule(), scoring=scoring)
    old = scoring.injected(URL, CrawlDatum(status=DbStatus.UNFETCHED, score=1.0))
    shares = scoring.distribute(URL, old, PAGE, TARGETS, 2)
    links = [CrawlDatum(status=PartStatus.LINKED, score=link.score, extra=link.extra) for link in shares]

    found = update(TARGETS[0].target, None, None, links, None, NOW, rules)
    orphan = update(URL, old, None, [], None, NOW, rules)

    assert found is not None
    assert (found.score, found.extra["depth"]) == (1.0, 2)
    assert orphan == old
    assert scoring.sort_value(URL, old) == 1000.0
    assert scoring.index(URL, replace(old, score=4.0)) == 2.0


def test_empty_chain_changes_nothing() -> None:
    scoring, record = ScoringChain(()), datum(3.0)

    assert scoring.initial(URL, record) is record
    assert scoring.update(URL, None, record, [], NOW) is record
    assert scoring.distribute(URL, record, PAGE, TARGETS, 2) is TARGETS
    assert (scoring.sort_value(URL, record), scoring.index(URL, record)) == (1.0, 1.0)
