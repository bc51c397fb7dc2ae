"""How long a crawl takes, as far as its delays tell: said when it begins, and again when more of its URLs are known."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from msgspec import Struct

from scoter.batch.fetchlists.picker import QueueLoad
from scoter.core.display import count

_LONG: Final = timedelta(minutes=10)


class CrawlEstimate(Struct):
    """Estimates how long a crawl takes, and repeats itself only if it gets twice as long.

    ``rounds`` is the number of rounds and ``limit`` the most URLs of a host in each; ``None`` if there is no limit.
    """

    rounds: int | None
    limit: int | None
    announced: timedelta = timedelta(0)

    def sentence(self, load: QueueLoad, number: int, *, is_new: bool) -> str:
        """Return what to say at the beginning of round ``number``, given its slowest host; empty if nothing.

        A crawl that knows only its seeds takes at most as long as its limits allow, any other one at least as long as
        the URLs that it knows.
        """
        pace = f"one page per {load.spacing.total_seconds():g} s"
        left = None if self.rounds is None else self.rounds - number
        known = load.known if left is None or self.limit is None else min(load.known, self.limit * (left + 1))
        least = load.least(known)
        if least >= max(_LONG, 2 * self.announced):
            self.announced = least
            urls = f"{count(known, 'URL')} of {load.queue}"
            return f"This crawl takes at least {_hours(least)}, as far as its URLs are known: {urls}, {pace}."
        if not is_new or not load.spacing:
            return ""
        if left is None or self.limit is None:
            return f"This crawl fetches {pace} and host, at most {timedelta(hours=1) // load.spacing:,} per hour."
        longest = load.least(load.urls + self.limit * left)
        if longest < _LONG:
            return ""
        limits = f"at most {count(self.limit, 'page')} per host in each of {count(self.rounds or 0, 'round')}"
        return f"This crawl may take up to {_hours(longest)}: {pace} and host, {limits}."


def _hours(time: timedelta) -> str:
    """Return a long time as people estimate it.

    >>> _hours(timedelta(seconds=9_750)), _hours(timedelta(minutes=25)), _hours(timedelta(days=3, hours=2))
    ('2.7 hours', '25 minutes', '3.1 days')
    """
    minutes = time.total_seconds() / 60
    if minutes < 60:
        return f"{minutes:.0f} minutes"
    return f"{minutes / 60:.1f} hours" if minutes < 48 * 60 else f"{minutes / 1_440:.1f} days"
