"""The rules of OPIC and depth scoring."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.datum import CrawlDatum, DbStatus, PartStatus
from scoter.core.page import Outlink
from scoter.core.scoring import OpicRules, SeedDistance, closest, opic_score
from scoter.core.url import canonical

HERE = Outlink(target=canonical("http://here.example/a"))
THERE = Outlink(target=canonical("http://there.example/a"))


def datum(score: float) -> CrawlDatum:
    return CrawlDatum(status=DbStatus.FETCHED, score=score)


def test_score_is_distributed_equally_among_kept_targets() -> None:
    shares = OpicRules().distribute(1.0, "here.example", [HERE, THERE], 10)

    assert [link.score for link in shares] == [0.5, 0.5]
    assert [link.target for link in shares] == [HERE.target, THERE.target]


def test_counting_filtered_links_reduces_the_shares() -> None:
    shares = OpicRules(count_filtered=True).distribute(1.0, "here.example", [HERE, THERE], 10)

    assert [link.score for link in shares] == [0.1, 0.1]


def test_internal_and_external_links_have_their_own_factors() -> None:
    shares = OpicRules(internal=0.5, external=2.0).distribute(1.0, "here.example", [HERE, THERE], 2)

    assert [link.score for link in shares] == [0.25, 1.0]


def test_page_without_links_distributes_nothing() -> None:
    assert OpicRules().distribute(1.0, "here.example", [], 0) == []
    assert OpicRules(count_filtered=True).distribute(1.0, "here.example", [], 5) == []


def test_inlink_scores_are_added_to_the_previous_score() -> None:
    links = [CrawlDatum(status=PartStatus.LINKED, score=0.25)] * 2

    assert opic_score(datum(1.0), datum(9.0), links) == 1.5
    assert opic_score(None, datum(2.0), links) == 2.5


@given(st.lists(st.floats(0, 1e6), max_size=50))
def test_the_sum_does_not_depend_on_the_order_of_the_links(scores: list[float]) -> None:
    links = [CrawlDatum(status=PartStatus.LINKED, score=score) for score in scores]

    assert opic_score(None, datum(1.0), links) == opic_score(None, datum(1.0), links[::-1])


def test_non_finite_scores_are_ignored_and_sums_do_not_overflow() -> None:
    def scored(*scores: float) -> list[CrawlDatum]:
        return [CrawlDatum(status=PartStatus.LINKED, score=score) for score in scores]

    assert opic_score(None, datum(1.0), scored(math.inf, -math.inf, math.nan)) == 1.0
    assert math.isfinite(opic_score(None, datum(1.0), scored(1.7e308, 1.7e308)))


def test_only_links_to_the_same_host_are_internal() -> None:
    sibling = Outlink(target=canonical("http://www.here.example/"))

    (share,) = OpicRules(internal=0.0, external=1.0).distribute(1.0, "here.example", [sibling], 1)

    assert share.score == 1.0


@pytest.mark.parametrize(("score", "boost"), [(4.0, 2.0), (0.0, 0.0), (-1.0, 0.0)])
def test_index_boost_is_a_power_of_the_score(score: float, boost: float) -> None:
    assert OpicRules(index_power=0.5).boost(score, 1.0) == boost


def test_links_are_one_step_deeper_than_their_page() -> None:
    (link,) = SeedDistance(1, 5).distribute([HERE])

    assert link.extra == {"depth": 2, "max_depth": 5}


def test_page_at_its_depth_limit_has_no_links() -> None:
    assert SeedDistance(5, 5).distribute([HERE, THERE]) == ()
    assert SeedDistance(6, 5).distribute([HERE]) == ()
    assert len(SeedDistance(4, 5).distribute([HERE, THERE])) == 2


def test_limit_can_be_overridden_for_targets() -> None:
    (link,) = SeedDistance(1, 5).distribute([HERE], limit=9)

    assert link.extra["max_depth"] == 9


def test_shortest_distance_from_a_seed_wins() -> None:
    assert closest(SeedDistance(4), [SeedDistance(6), SeedDistance(2), SeedDistance(3)]) == SeedDistance(2)
    assert closest(None, [SeedDistance(6)]) == SeedDistance(6)
    assert closest(SeedDistance(4), []) == SeedDistance(4)
    assert closest(None, []) is None


def test_largest_depth_limit_wins() -> None:
    assert closest(SeedDistance(2, 5), [SeedDistance(3, 9)]) == SeedDistance(2, 9)


def test_shallow_pages_sort_first() -> None:
    assert SeedDistance(1, 10).sort_value(2.0) == 20.0
    assert SeedDistance(10, 10).sort_value(2.0) == 2.0
