"""Recently requested URLs."""

from __future__ import annotations

from scoter.batch.worker.outcomes import RecentUrls


def test_url_added_before_the_period_counts_as_new() -> None:
    now = 0.0
    seen = RecentUrls(10, clock=lambda: now)
    assert seen.add("a", within=60)

    now = 60.0
    assert not seen.add("a", within=60)
    now = 61.0
    assert seen.add("a", within=60)
    now = 100.0
    assert not seen.add("a", within=60)
    now = 10_000.0
    assert not seen.add("a")
