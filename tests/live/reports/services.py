"""A service's directory with a log whose reports are known."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from tests.live.content.outcomes import NOON, Clock, FakeEvents, event

from scoter.live.content.log import FetchLog
from scoter.live.content.log_rows import OutcomeTiming, OutcomeTimings
from scoter.live.records import ContentKind, Event, State

DAY = timedelta(days=1)


def outcomes(now: datetime = NOON) -> list[Event]:
    """Return the events of yesterday and today that the tests expect."""
    yesterday, today = now - DAY, now
    ok = State.OK
    return [
        event(1, "http://t.co/1", at=yesterday, message="a", resolved="http://www.bbc.co.uk/n", title="Old title"),
        event(2, "http://www.bbc.co.uk/n", at=yesterday, message="b", title="News", image="http://i.org/1.png"),
        event(3, "http://i.org/1.png", at=yesterday, message="b", kind=ContentKind.IMAGE),
        event(4, "http://i.org/1.png", at=yesterday, message="c", kind=ContentKind.IMAGE, fetch="f3",
              fetched_at=yesterday),
        event(5, "http://x.org/", at=yesterday, message="c", state=State.FAILED, status=503, reason="busy"),
        event(6, "http://x.org/", at=today, message="d", state=State.FAILED, status=503, reason="busy", fetch="f5",
              fetched_at=yesterday),
        event(7, "http://y.org/", at=today, message="d", state=State.GONE, status=404, reason="not_found"),
        event(8, "http://bbc.co.uk/", at=today, message="d", state=ok, title="Home", image="http://i.org/2.png"),
        event(9, "http://notbbc.co.uk/", at=today, message="e", state=ok, title="Another"),
        event(10, "http://127.0.0.1/", at=today, message="e", state=State.REFUSED, status=None,
              reason="refused_address"),
        event(11, "http://bbc.co.uk/2", at=today, message="d", state=ok, image="http://i.org/2.png"),
    ]  # fmt: skip


TIMINGS = {
    1: OutcomeTiming((("resolve", 100.0), ("record", 5.0)), waited=10.0, remote=80.0, total=110.0),
    2: OutcomeTiming((("resolve", 300.0), ("record", 7.0)), waited=0.0, remote=280.0, total=330.0),
    4: OutcomeTiming(total=1.0),
    9: OutcomeTiming((("resolve", 200.0), ("related", 50.0), ("record", 6.0)), waited=20.0, remote=150.0, total=260.0),
}


async def service(folder: Path, now: datetime = NOON) -> Path:
    """Create a service's directory; the first hour of its log is merged, the last is not."""
    events, timings = outcomes(now), OutcomeTimings()
    for each in events:
        if each.number in TIMINGS:
            timings.put(each.message, each.url, TIMINGS[each.number])
    log = FetchLog(folder / "log", FakeEvents(events), timings, clock=Clock(now))
    await log.flush()
    await log.merge()
    return folder
