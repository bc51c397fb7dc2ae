"""Timings of outcomes, in milliseconds."""

from __future__ import annotations

from datetime import timedelta

from tests.live.content.outcomes import NOON, Clock

from scoter.core.url import canonical
from scoter.live.content.log_rows import OutcomeTiming, OutcomeTimings
from scoter.live.pipeline.context import Context
from scoter.live.ports import JournalEntry
from scoter.live.records import Priority


def test_finished_context_leaves_its_timing() -> None:
    timings = OutcomeTimings(clock=Clock(NOON + timedelta(seconds=2)))
    entry = JournalEntry(
        id=1, message="m", url="http://a.org/", priority=Priority.NORMAL, force=False, callback="", accepted=NOON
    )
    context = Context(entry=entry, url=canonical("http://a.org/"), fetch="f", waited=0.5, remote=0.25)

    timings.note(context.timed("resolve", 1.0).timed("record", 0.125))

    found = timings.get("m", "http://a.org/")
    assert found == OutcomeTiming((("resolve", 1000.0), ("record", 125.0)), waited=500.0, remote=250.0, total=2000.0)


def test_timing_is_never_negative_after_the_clock_was_set_back() -> None:
    timings = OutcomeTimings(clock=Clock(NOON - timedelta(hours=1)))
    entry = JournalEntry(
        id=1, message="m", url="http://a.org/", priority=Priority.NORMAL, force=False, callback="", accepted=NOON
    )

    timings.note(Context(entry=entry, url=canonical("http://a.org/"), fetch="f"))

    found = timings.get("m", "http://a.org/")
    assert found is not None
    assert found.total == 0.0
