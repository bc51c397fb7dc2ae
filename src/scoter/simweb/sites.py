"""The hosts: their names, their sizes, and the habits each of them has.

The first twenty have habits written by hand, so that every plain feature occurs in a web of twenty hosts; those
after them draw theirs from the quick ones among these.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

import msgspec

from .dice import mix
from .facts import Delivery, Validators
from .prose import domain, prose, slug, words
from .robots import PRIVATE, SHUT, RobotsKind
from .spec import WebSpec

#: Every page n has the pages 8n+1 to 8n+8 as its children: a host of a million pages is seven deep.
BRANCHES = 8
#: So many pages of a host that lets nobody in are linked from elsewhere.
SHUT_LINKED = 3
#: A host with a crawl delay, or one that lets nobody in, stays small, lest it set the pace of a whole crawl.
_SMALL = 12

CONTROL = "control.simweb.test"


class Habits(msgspec.Struct, frozen=True):
    """How a host writes and answers."""

    language: str = "en"
    #: The encoding of its pages, the one its header names ("" for none), and the one its meta tag names.
    encoding: str = "utf-8"
    header: str = "utf-8"
    meta: str = "utf-8"
    robots: RobotsKind = RobotsKind.ABSENT
    compress: bool = False
    delivery: Delivery = Delivery.LENGTH
    validators: Validators = Validators.BOTH


_B, _E, _M, _N = Validators.BOTH, Validators.ETAG, Validators.MODIFIED, Validators.NONE
_LEN, _CHUNK, _CLOSE = Delivery.LENGTH, Delivery.CHUNKED, Delivery.UNTIL_CLOSE
_R = RobotsKind

HABITS: tuple[Habits, ...] = (
    Habits("en", "utf-8", "utf-8", "utf-8", _R.ABSENT, True, _LEN, _B),
    Habits("de", "windows-1252", "windows-1252", "", _R.FOLDER, False, _LEN, _B),
    Habits("zh", "gbk", "gbk", "gbk", _R.OPEN, True, _LEN, _E),
    Habits("fr", "utf-8", "utf-8", "", _R.FORBIDDEN, False, _CHUNK, _M),
    Habits("ja", "shift_jis", "Shift_JIS", "shift_jis", _R.ABSENT, False, _LEN, _B),
    Habits("ru", "windows-1251", "windows-1251", "", _R.BOM, True, _CHUNK, _B),
    Habits("ko", "euc-kr", "euc-kr", "", _R.FOLDER, False, _LEN, _E),
    Habits("en", "utf-16", "", "", _R.ABSENT, False, _LEN, _B),
    Habits("ru", "utf-8", "iso-8859-1", "utf-8", _R.MOVED_HERE, False, _LEN, _B),
    Habits("fr", "windows-1252", "utf-8", "", _R.MOVED_AWAY, True, _LEN, _M),
    Habits("ja", "utf-8", "", "utf-8", _R.OPEN, False, _LEN, _B),
    Habits("zh", "gbk", "", "", _R.ABSENT, False, _LEN, _N),
    Habits("en", "utf-8", "utf-8", "", _R.CLOSED, False, _LEN, _B),
    Habits("de", "utf-8", "utf-8", "", _R.DELAY, True, _LEN, _B),
    Habits("ko", "utf-8", "", "utf-8", _R.OPEN, False, _LEN, _E),
    Habits("ru", "windows-1251", "", "windows-1251", _R.ABSENT, False, _LEN, _B),
    Habits("zh", "utf-8", "utf-8", "", _R.FOLDER, True, _LEN, _M),
    Habits("ja", "shift_jis", "", "shift_jis", _R.ABSENT, False, _LEN, _B),
    Habits("en", "windows-1252", "", "", _R.ABSENT, False, _CLOSE, _N),
    Habits("fr", "utf-8", "utf-8", "utf-8", _R.OPEN, True, _LEN, _B),
)
_QUICK = tuple(
    habits
    for habits in HABITS
    if habits.robots not in (_R.CLOSED, _R.DELAY) and habits.delivery is not Delivery.UNTIL_CLOSE
)

_LABELS = ("www.", "blog.", "shop.", "www.", "")
_DOMAIN_STEPS = (0, 0, 0, 1, 2)


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """One host: ``size`` numbered pages, and what it is like."""

    seed: int
    index: int
    name: str
    size: int
    habits: Habits
    #: The kind of fault it shows; "" for the hosts of the plain web.
    fault: str = ""

    @property
    def origin(self) -> str:
        """Scheme and host, as its URLs begin."""
        return f"http://{self.name}"

    @property
    def shut(self) -> bool:
        """Whether a crawler that obeys fetches nothing from it."""
        return self.habits.robots in SHUT

    @property
    def html(self) -> str:
        """The Content-Type of its pages."""
        return f"text/html; charset={self.habits.header}" if self.habits.header else "text/html"

    def leaf(self, number: int) -> bool:
        """Whether no page hangs below this one."""
        return BRANCHES * number + 1 >= self.size

    def bits(self, number: int) -> int:
        """The page's own random bits."""
        return mix(self.seed, self.index, number)

    def path(self, number: int) -> str:
        """The path of a numbered page."""
        if number == 0:
            return "/"
        bits = self.bits(number)
        text = prose(self.habits.language, self.seed)
        word = text.slug(bits >> 8) if text.native_slugs and bits & 3 == 0 else slug(bits >> 8)
        if number % 9 == 5 and self.leaf(number):
            return f"{PRIVATE}{word}-{number}.html"
        sections = _sections()
        return f"/{sections[(bits >> 40) % len(sections)]}/{word}-{number}.html"

    def confined(self, number: int) -> bool:
        """Whether the page lies in the folder that some robots.txt files close."""
        return number % 9 == 5 and self.leaf(number)


@lru_cache(maxsize=1)
def _sections() -> tuple[str, ...]:
    return words("sections")


def plain_name(seed: int, index: int) -> str:
    """The name of a plain host: five of them share three registered domains."""
    group, rest = divmod(index, 5)
    number = group * 3 + _DOMAIN_STEPS[rest]
    return _LABELS[rest] + domain(seed, number, international=number % 7 == 2)


def habits_of(seed: int, index: int) -> Habits:
    """The habits of a plain host."""
    if index < len(HABITS):
        return HABITS[index]
    return _QUICK[mix(seed, index, 0x4AB) % len(_QUICK)]


class Sizes:
    """How many pages each plain host has: by Zipf's law, summing up to the number asked for."""

    def __init__(self, spec: WebSpec) -> None:
        # The exponent is a little below 1, so that the last of 20 hosts still has some ten pages out of 500.
        weights = [1.0 / (rank + 1) ** 0.8 for rank in range(spec.hosts)]
        scale = (spec.pages - spec.hosts) / sum(weights)
        self._counts = array("q", (1 + int(weight * scale) for weight in weights))
        for index, habits in enumerate(HABITS[: spec.hosts]):
            if habits.robots in (_R.CLOSED, _R.DELAY):
                self._counts[index] = min(self._counts[index], _SMALL)
        self._counts[0] += spec.pages - sum(self._counts)
        self._heaps = array("d", accumulate(weights))

    def __getitem__(self, index: int) -> int:
        return self._counts[index]

    def draw(self, share: float) -> int:
        """The host on which a share of all links from 0 to 1 ends: the larger, the more often."""
        heaps = self._heaps
        return min(bisect_right(heaps, share * heaps[-1]), len(heaps) - 1)
