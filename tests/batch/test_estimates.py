"""How long a crawl takes: what it says when it begins, and when more of its URLs are known."""

from __future__ import annotations

from datetime import timedelta

from scoter.batch.fetchlists.estimates import CrawlEstimate
from scoter.batch.fetchlists.picker import QueueLoad


def load(known: int, seconds: float = 5.0, picked: int | None = None) -> QueueLoad:
    return QueueLoad("a.org", known if picked is None else picked, known, timedelta(seconds=seconds))


def test_new_crawl_says_how_long_its_limits_allow() -> None:
    found = CrawlEstimate(5, 5_000).sentence(load(1), 1, is_new=True)

    assert found == (
        "This crawl may take up to 27.8 hours: one page per 5 s and host, at most 5,000 pages per host in each of"
        " 5 rounds."
    )


def test_new_crawl_without_limits_says_its_pace() -> None:
    found = CrawlEstimate(None, 5_000).sentence(load(1), 1, is_new=True)

    assert found == "This crawl fetches one page per 5 s and host, at most 720 per hour."


def test_known_urls_make_the_estimate_better_until_it_has_doubled() -> None:
    crawl = CrawlEstimate(5, 1_000)

    said = [crawl.sentence(load(known, picked=1_000), 2, is_new=False) for known in (1_951, 2_500, 9_000)]

    assert said[0] == (
        "This crawl takes at least 2.7 hours, as far as its URLs are known: 1,951 URLs of a.org, one page per 5 s."
    )
    assert said[1] == ""
    assert "at least 5.6 hours" in said[2]  # four rounds are left
    assert "4,000 URLs of a.org" in said[2]


def test_short_crawl_says_nothing() -> None:
    assert CrawlEstimate(2, 50).sentence(load(1), 1, is_new=True) == ""
    assert CrawlEstimate(5, 5_000).sentence(load(20), 3, is_new=False) == ""
    assert CrawlEstimate(5, 5_000).sentence(load(9, seconds=0), 1, is_new=True) == ""
