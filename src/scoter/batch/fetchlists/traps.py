"""Hold back the URLs of possible crawler traps.

``generate`` looks at the texts of the segments that are new since the last time. The patterns and hosts whose pages
hardly differ are kept in ``traps.json``, together with samples of the others, because a trap may grow slowly. Only a
small share of a fetch list may come from them and from calendars, so real pages are not delayed, and a crawl ends when
nothing else is due. Users see which hosts are affected. Calendars of which too few texts are known are tried a few
pages at a time; the others wait for the next fetch list.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir.directory import CrawlDir
from scoter.config import Config
from scoter.core.traps import (
    MOST_PROBES,
    PROBES,
    PatternSample,
    TextVariety,
    is_calendar_page,
    is_far_ahead,
    url_pattern,
)
from scoter.core.url import Url, canonical
from scoter.errors import UserError
from scoter.store.tables.local import storage_at

TRAPS_FILE: Final = "traps.json"
NEAR_DUPLICATES: Final = "near-duplicate pages"
CALENDAR: Final = "dates far in the future"
_MOST_NAMES: Final = 5_000
_MOST_HOSTS: Final = 1_000
_SEGMENTS: Final = 3  # that are examined at once, the newest


class TrapHost(Struct, frozen=True):
    """A host with a possible trap, why, and how many of its URLs were held back."""

    host: str
    reason: str
    urls: int


class _TrapState(Struct, frozen=True):
    """The content of ``traps.json``.

    It names the newest segment that was examined, the patterns and hosts of possible traps, samples of the others, and
    how many pages of calendars were tried.
    """

    examined: str = ""
    names: tuple[str, ...] = ()
    samples: dict[str, PatternSample] = {}
    probes: dict[str, int] = {}


class TrapLimit:
    """Admits URLs of possible traps up to a share of all URLs."""

    def __init__(self, state: _TrapState, share: float, year: int) -> None:
        self._state = state
        self._names = frozenset(state.names)
        self._tried = frozenset(TextVariety(state.samples).tried())
        self._share = share
        self._year = year
        self._admitted = 0
        self._held: dict[tuple[str, str], int] = {}
        self._probes: dict[str, int] = {}
        self.waiting = 0
        """The number of calendar pages left for the next fetch list."""

    @property
    def held(self) -> int:
        """The number of URLs held back."""
        return sum(self._held.values())

    def admits(self, url: Url, picked: int) -> bool:
        """Return whether a URL may be picked, given how many were picked before it."""
        reason = self._reason(url)
        if not reason:
            return not is_calendar_page(url) or self._may_probe(url_pattern(url))
        if self._admitted + 1 <= self._share * picked:
            self._admitted += 1
            return True
        place = (url.host, reason)
        if place not in self._held and len(self._held) >= _MOST_HOSTS:
            place = ("other hosts", reason)
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
        """Return the hosts with URLs held back, those with most of them first."""
        by_count = sorted(self._held.items(), key=lambda each: (-each[1], each[0]))
        return tuple(TrapHost(host, reason, urls) for (host, reason), urls in by_count)

    def _reason(self, url: Url) -> str:
        names = self._names
        if names and (url.host in names or url_pattern(url) in names):
            return NEAR_DUPLICATES
        return CALENDAR if is_far_ahead(url, self._year) else ""


def open_traps(crawl: CrawlDir, config: Config, now: datetime) -> TrapLimit | None:
    """Examine new segments and return the limit for possible traps, or ``None`` if there is none."""
    share = config.generate.trap_share
    if share >= 1:
        return None
    before = _read(crawl)
    new = [each for each in crawl.all_segments() if each.name > before.examined and each.is_parsed][-_SEGMENTS:]
    if new:
        variety = TextVariety(before.samples)
        for segment in new:
            for batch in segment.parse_text().scan(["url", "text"]):
                for url, text in zip(batch.column("url").to_pylist(), batch.column("text").to_pylist(), strict=True):
                    variety.add(canonical(url), text or "")
        names = dict.fromkeys((*variety.monotonous(), *before.names))
        samples = {name: sample for name, sample in variety.samples.items() if name not in names}
        before = _TrapState(new[-1].name, tuple(names)[:_MOST_NAMES], samples, before.probes)
        _write(crawl, before)
    return TrapLimit(before, share, now.year)


def trap_names(crawl: CrawlDir) -> tuple[str, ...]:
    """Return the URL patterns and hosts of possible traps; a pattern begins with its host."""
    return _read(crawl).names


def _write(crawl: CrawlDir, state: _TrapState) -> None:
    storage_at(crawl.path).replace(TRAPS_FILE, msgspec.json.encode(state) + b"\n")


def _read(crawl: CrawlDir) -> _TrapState:
    file = crawl.path / TRAPS_FILE
    data = storage_at(crawl.path).read(TRAPS_FILE) or b"{}"
    try:
        return msgspec.json.decode(data, type=_TrapState)
    except msgspec.DecodeError as failure:
        raise UserError(
            f"the file is damaged: {failure}", where=str(file), hint="Remove it; it is made again from later segments."
        ) from failure
