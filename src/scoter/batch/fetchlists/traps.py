"""Hold back the URLs of possible crawler traps.

``generate`` looks at the pages of the segments that are new since the last time, by the hashes that workers stored with
them. The patterns and branches of sites whose pages say the same and lead on are kept in ``traps.json``, together with
samples of all, because a trap may grow slowly, and a suspicion may turn out to be wrong. Only a small share of a fetch
list may come from them and from calendars, so real pages are not delayed, and a crawl ends when nothing else is due.
Users see which URLs are affected. Calendars of which too few texts are known are tried a few pages at a time; the
others wait for the next fetch list.

Only URLs that were found by links alone are held back: neither those that were fetched before nor those that a seed
list or a sitemap has named.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.urls.listed import ListedUrls
from scoter.config import Config
from scoter.core.traps import (
    MOST_PROBES,
    PROBES,
    KindSample,
    PageVariety,
    branch_of,
    is_calendar_page,
    is_far_ahead,
    url_pattern,
)
from scoter.core.url import Url, canonical
from scoter.errors import UserError
from scoter.fetch.queues.policy import own_hosts
from scoter.store.tables.local import storage_at

TRAPS_FILE: Final = "traps.json"
NEAR_DUPLICATES: Final = "near-duplicate pages"
CALENDAR: Final = "dates far in the future"
_MOST_NAMES: Final = 5_000
_MOST_TRAPS: Final = 1_000
_RULES: Final = 1  # changes whenever samples of pages change their meaning
_SEGMENTS: Final = 3  # that are examined at once, the newest


class TrapHost(Struct, frozen=True):
    """A host with a possible trap, why, how many of its URLs were held back, and the pattern that they share."""

    host: str
    reason: str
    urls: int
    pattern: str = ""


class TrapState(Struct, frozen=True):
    """The content of ``traps.json``.

    It names the newest segment that was examined, the patterns and branches of possible traps, samples of the pages of
    each, how many pages of calendars were tried, and the rules by which pages were judged.
    """

    examined: str = ""
    names: tuple[str, ...] = ()
    samples: dict[str, KindSample] = {}
    probes: dict[str, int] = {}
    rules: int = 0


class TrapLimit:
    """Admits URLs of possible traps up to a share of all URLs, but at least one beside others."""

    def __init__(
        self,
        state: TrapState,
        share: float,
        year: int,
        listed: Callable[[str], bool],
        own: Container[str] = frozenset(),
    ) -> None:
        """``own`` are the hosts of which nothing is held back."""
        self._state = state
        self._own = own
        self._names = frozenset(state.names)
        self._tried = frozenset(PageVariety(state.samples).tried())
        self._share = share
        self._year = year
        self._is_listed = listed
        self._admitted = 0
        self._held: dict[tuple[str, str, str], int] = {}
        self._probes: dict[str, int] = {}
        self.waiting = 0
        """The number of calendar pages left for the next fetch list."""

    @property
    def held(self) -> int:
        """The number of URLs held back."""
        return sum(self._held.values())

    def admits(self, url: Url, picked: int) -> bool:
        """Return whether a URL that was never fetched may be picked, given how many were picked before it."""
        if url.host in self._own:
            return True
        reason, pattern = self.suspicion(url)
        if not reason:
            return not is_calendar_page(url) or self._is_listed(url.text) or self._may_probe(url_pattern(url))
        has_others = picked > self._admitted
        if self._share and has_others and self._admitted < max(1, int(self._share * picked)):
            self._admitted += 1
            return True
        place = (url.host, reason, pattern)
        if place not in self._held and len(self._held) >= _MOST_TRAPS:
            place = ("other hosts", reason, "")
        self._held[place] = self._held.get(place, 0) + 1
        return False

    def _may_probe(self, pattern: str) -> bool:
        # If there are no texts after several attempts, there will be none.
        if pattern in self._tried or self._state.probes.get(pattern, 0) >= MOST_PROBES:
            return True
        number = self._probes.get(pattern, 0)
        if number >= PROBES:
            self.waiting += 1
            return False
        if number or len(self._probes) < _MOST_NAMES:
            self._probes[pattern] = number + 1
        return True

    def save_probes(self, crawl: CrawlDir) -> None:
        """Record how many pages of calendars were picked."""
        if not self._probes:
            return
        before = self._state.probes
        probes = before | {name: number + before.get(name, 0) for name, number in self._probes.items()}
        kept = dict(list(probes.items())[-_MOST_NAMES:])
        _write(crawl, replace(self._state, probes=kept))

    def hosts(self) -> tuple[TrapHost, ...]:
        """Return the possible traps with URLs held back, those with most of them first."""
        by_count = sorted(self._held.items(), key=lambda each: (-each[1], each[0]))
        return tuple(TrapHost(host, reason, urls, pattern) for (host, reason, pattern), urls in by_count)

    def suspicion(self, url: Url) -> tuple[str, str]:
        """Return why a URL may be part of a trap, and the pattern that it shares with others, or two empty strings."""
        names, found = self._names, ("", "")
        if names and (pattern := url_pattern(url)) in names:
            found = NEAR_DUPLICATES, pattern
        elif names and (branch := branch_of(url)) in names:
            # A pattern of the branch may be known to be different.
            sample = self._state.samples.get(pattern)
            found = ("", "") if sample is not None and sample.is_varied() else (NEAR_DUPLICATES, branch)
        if not found[0] and is_far_ahead(url, self._year):
            found = CALENDAR, url_pattern(url)
        return ("", "") if found[0] and self._is_listed(url.text) else found


def open_traps(crawl: CrawlDir, config: Config, now: datetime) -> TrapLimit | None:
    """Examine new segments and return the limit for possible traps, or ``None`` if there is none."""
    if config.generate.trap_share >= 1:
        return None
    before = _read(crawl)
    new = [each for each in crawl.all_segments() if each.name > before.examined and each.is_parsed][-_SEGMENTS:]
    if new:
        variety = PageVariety(before.samples)
        for segment in new:
            for batch in segment.parse_data().scan(["url", "words_hash", "links_hash"]):
                known = batch.filter(batch.column("words_hash").is_valid())  # not entries, nor pages without text
                for url, words, links in zip(*(column.to_pylist() for column in known.columns), strict=True):
                    variety.add(canonical(url), words, links)
        # The samples show whether a suspicion holds, unless they were forgotten.
        forgotten = (name for name in before.names if name not in variety.samples)
        names = dict.fromkeys((*variety.monotonous(), *forgotten))
        before = TrapState(new[-1].name, tuple(names)[:_MOST_NAMES], variety.samples, before.probes, _RULES)
        _write(crawl, before)
    listed = ListedUrls(crawl).__contains__
    return TrapLimit(before, config.generate.trap_share, now.year, listed, own_hosts(config.fetch))


def suspected_trap(crawl: CrawlDir, config: Config, url: Url, now: datetime) -> str:
    """Return why ``generate`` may hold back a URL that was never fetched, or an empty string; nothing is examined."""
    share = config.generate.trap_share
    if share >= 1 or url.host in own_hosts(config.fetch):
        return ""
    reason, pattern = TrapLimit(_read(crawl), share, now.year, ListedUrls(crawl).__contains__).suspicion(url)
    return f"{reason}, {pattern}" if reason else ""


def trap_names(crawl: CrawlDir) -> tuple[str, ...]:
    """Return the patterns and branches of possible traps; each begins with its host."""
    return _read(crawl).names


def _write(crawl: CrawlDir, state: TrapState) -> None:
    storage_at(crawl.path).replace(TRAPS_FILE, msgspec.json.encode(state) + b"\n")


def _read(crawl: CrawlDir) -> TrapState:
    file = crawl.path / TRAPS_FILE
    data = storage_at(crawl.path).read(TRAPS_FILE) or b"{}"
    try:
        found = msgspec.json.decode(data, type=TrapState)
        # What other rules found may be wrong by these.
        return found if found.rules == _RULES else TrapState(found.examined, probes=found.probes, rules=_RULES)
    except msgspec.DecodeError as failure:
        raise UserError(
            f"the file is damaged: {failure}", where=str(file), hint="Remove it; it is made again from later segments."
        ) from failure
