"""CPU time of the update rule, signatures, robots.txt verdicts and command start-up.

The update rule is compared with the minimum: a copy of the record with a new status.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from scoter.builtin.scoring import OpicScoring
from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus, FetchStatus, PartStatus
from scoter.core.robots import Robots
from scoter.core.schedule import AdaptiveSchedule, Schedule
from scoter.core.signature import simhash, text_profile
from scoter.core.update import UpdateRules, update
from scoter.core.url import canonical
from scoter.plugins import Setup

NOW = datetime(2026, 3, 1, tzinfo=UTC)
URL = canonical("http://example.com/a/b")


class Scoring(OpicScoring):
    """OPIC as an update sees it."""

    def orphaned(self, url: object, datum: CrawlDatum, now: datetime) -> CrawlDatum:
        return datum


def per_second(work: Callable[[], object], count: int) -> float:
    """Return repetitions per CPU second, the best of three runs."""
    best = 0.0
    for _ in range(3):
        start = time.process_time()
        for _ in range(count):
            work()
        best = max(best, count / (time.process_time() - start))
    return best


def updates(schedule: Schedule) -> Callable[[], None]:
    """Return five updates of different kinds."""
    rules = UpdateRules(schedule=schedule, scoring=Scoring(Setup(load())))
    old = CrawlDatum(
        status=DbStatus.FETCHED,
        fetch_time=NOW,
        modified_time=NOW - timedelta(days=3),
        interval=timedelta(days=30),
        score=1.0,
        signature=b"o" * 16,
        metadata={"_ngt_": "1", "Content-Type": "text/html"},
    )
    links = [CrawlDatum(status=PartStatus.LINKED, score=0.1)] * 3
    fetched = replace(old, status=FetchStatus.SUCCESS)
    failed = replace(old, status=FetchStatus.RETRY)
    moved = replace(old, status=FetchStatus.REDIR_PERM)

    def work() -> None:
        update(URL, None, None, links, None, NOW, rules)
        update(URL, old, fetched, links, b"n" * 16, NOW, rules)
        update(URL, old, fetched, [], b"o" * 16, NOW, rules)
        update(URL, old, failed, [], None, NOW, rules)
        update(URL, old, moved, links, None, NOW, rules)

    return work


def start_seconds() -> float:
    """Return the CPU seconds of `scoter --help`, the best of three runs."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    best = 99.0
    for _ in range(3):
        before = used()
        subprocess.run([sys.executable, "-m", "scoter.cli.main", "--help"], stdout=subprocess.DEVNULL, check=True)
        best = min(best, used() - before)
    return best


def main() -> int:
    old = CrawlDatum(status=DbStatus.FETCHED)
    copies = per_second(lambda: replace(old, status=DbStatus.GONE), 50_000)
    default = 5 * per_second(updates(Schedule()), 4_000)
    adaptive = 5 * per_second(updates(AdaptiveSchedule()), 4_000)
    text = " ".join(f"word{number % 700} and{number % 31}" for number in range(1_000))
    robots = Robots.read(b"User-agent: *\n" + b"".join(b"Disallow: /p%d/\n" % n for n in range(50)), ["scoter"])
    help_seconds = start_seconds()
    rows = [
        ("update rule, default schedule", default, 50_000, f"{copies / default:.0f} bare copies of a record"),
        ("update rule, adaptive schedule", adaptive, 50_000, f"{copies / adaptive:.0f} bare copies of a record"),
        ("simhash of 2,000 words", per_second(lambda: simhash(text), 200), 0, ""),
        ("text profile of 2,000 words", per_second(lambda: text_profile(text, b"", ""), 200), 0, ""),
        ("robots verdict, 50 rules", per_second(lambda: robots.allows(URL), 20_000), 0, ""),
    ]
    for name, rate, target, remark in rows:
        aim = f"target {target:>7,}" if target else ""
        print(f"  {name:<34}{rate:>12,.0f} a CPU-second  {aim:<16}{remark}".rstrip())
    print(f"  {'start of scoter --help':<34}{help_seconds:>12.3f} CPU-seconds    target   0.300")
    return 1 if any(rate < target for _, rate, target, _ in rows) or help_seconds > 0.3 else 0


if __name__ == "__main__":
    sys.exit(main())
