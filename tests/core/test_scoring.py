"""OPIC and depth, as pure functions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core import depth, opic
from scoter.core.datum import CrawlDatum, DbStatus, PartStatus
from scoter.core.depth import Depth
from scoter.core.opic import Factors
from scoter.core.page import Outlink
from scoter.core.url import canonical

HERE = Outlink(target=canonical("http://here.example/a"))
THERE = Outlink(target=canonical("http://there.example/a"))


def datum(score: float) -> CrawlDatum:
    return CrawlDatum(status=DbStatus.FETCHED, score=score)


def test_a_page_hands_its_score_to_the_kept_targets_in_equal_shares() -> None:
    shares = opic.distribute(1.0, "here.example", [HERE, THERE], 10, Factors())

    assert [link.score for link in shares] == [0.5, 0.5]
    assert [link.target for link in shares] == [HERE.target, THERE.target]


def test_counting_filtered_links_makes_the_shares_smaller() -> None:
    shares = opic.distribute(1.0, "here.example", [HERE, THERE], 10, Factors(count_filtered=True))

    assert [link.score for link in shares] == [0.1, 0.1]


def test_links_inside_and_outside_a_host_have_factors_of_their_own() -> None:
    shares = opic.distribute(1.0, "here.example", [HERE, THERE], 2, Factors(internal=0.5, external=2.0))

    assert [link.score for link in shares] == [0.25, 1.0]


def test_a_page_without_links_hands_out_nothing() -> None:
    assert opic.distribute(1.0, "here.example", [], 0, Factors()) == []
    assert opic.distribute(1.0, "here.example", [], 5, Factors(count_filtered=True)) == []


def test_a_score_grows_by_what_arrives_from_what_it_was_before() -> None:
    links = [CrawlDatum(status=PartStatus.LINKED, score=0.25)] * 2

    assert opic.update(datum(1.0), datum(9.0), links) == 1.5
    assert opic.update(None, datum(2.0), links) == 2.5


@given(st.lists(st.floats(0, 1e6), max_size=50))
def test_the_sum_does_not_depend_on_the_order_of_the_links(scores: list[float]) -> None:
    links = [CrawlDatum(status=PartStatus.LINKED, score=score) for score in scores]

    assert opic.update(None, datum(1.0), links) == opic.update(None, datum(1.0), links[::-1])


def test_scores_that_are_no_numbers_count_nothing_and_no_sum_overflows() -> None:
    def scored(*scores: float) -> list[CrawlDatum]:
        return [CrawlDatum(status=PartStatus.LINKED, score=score) for score in scores]

    assert opic.update(None, datum(1.0), scored(math.inf, -math.inf, math.nan)) == 1.0
    assert math.isfinite(opic.update(None, datum(1.0), scored(1.7e308, 1.7e308)))


def test_only_the_same_host_is_internal() -> None:
    sibling = Outlink(target=canonical("http://www.here.example/"))

    (share,) = opic.distribute(1.0, "here.example", [sibling], 1, Factors(internal=0.0, external=1.0))

    assert share.score == 1.0


@pytest.mark.parametrize(("score", "boost"), [(4.0, 2.0), (0.0, 0.0), (-1.0, 0.0)])
def test_the_index_boost_is_a_root_of_the_score(score: float, boost: float) -> None:
    assert opic.boost(score, 1.0, 0.5) == boost


def test_links_lie_one_step_deeper_than_their_page() -> None:
    (link,) = depth.distribute(Depth(1, 5), [HERE])

    assert link.extra == {"depth": 2, "max_depth": 5}


def test_a_page_at_its_limit_has_no_links() -> None:
    assert depth.distribute(Depth(5, 5), [HERE, THERE]) == ()
    assert depth.distribute(Depth(6, 5), [HERE]) == ()
    assert len(depth.distribute(Depth(4, 5), [HERE, THERE])) == 2


def test_targets_may_get_a_limit_of_their_own() -> None:
    (link,) = depth.distribute(Depth(1, 5), [HERE], limit=9)

    assert link.extra["max_depth"] == 9


def test_the_shortest_way_from_a_seed_counts() -> None:
    assert depth.update(Depth(4), [Depth(6), Depth(2), Depth(3)]) == Depth(2)
    assert depth.update(None, [Depth(6)]) == Depth(6)
    assert depth.update(Depth(4), []) == Depth(4)
    assert depth.update(None, []) is None


def test_the_widest_limit_among_the_ways_to_a_page_counts() -> None:
    assert depth.update(Depth(2, 5), [Depth(3, 9)]) == Depth(2, 9)


def test_shallow_pages_come_first() -> None:
    assert depth.sort_value(Depth(1, 10), 2.0) == 20.0
    assert depth.sort_value(Depth(10, 10), 2.0) == 2.0
