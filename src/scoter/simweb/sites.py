"""The hosts: their names, sizes and profiles, the faults some of them show, and the index of all of them.

The first twenty have profile written by hand, so that every plain feature occurs in a web of twenty hosts; those
after them draw theirs from the quick ones among these.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

import msgspec

from scoter.simweb.facts import Validators, WireBehaviour
from scoter.simweb.prose import domain, prose, slug, words
from scoter.simweb.rng import fraction, mix
from scoter.simweb.robots import PRIVATE, SHUT, RobotsKind
from scoter.simweb.spec import WebSpec

#: Every page n has the pages 8n+1 to 8n+8 as its children: a host of a million pages is seven deep.
BRANCHES = 8
#: So many pages of a host that lets nobody in are linked from elsewhere.
SHUT_LINKED = 3
#: A host with a crawl delay, or one that lets nobody in, stays small, lest it set the pace of a whole crawl.
_SMALL = 12

CONTROL = "control.simweb.test"
_B, _E, _M, _N = Validators.BOTH, Validators.ETAG, Validators.MODIFIED, Validators.NONE
_LEN, _CHUNK, _CLOSE = WireBehaviour.LENGTH, WireBehaviour.CHUNKED, WireBehaviour.UNTIL_CLOSE
_R = RobotsKind
_LABELS = ("www.", "blog.", "shop.", "www.", "")
_DOMAIN_STEPS = (0, 0, 0, 1, 2)
#: Faults of robots.txt: the whole host is concerned.
ROBOTS_FAULTS: dict[str, RobotsKind] = {
    "robots-500": RobotsKind.SERVER_ERROR,
    "robots-429": RobotsKind.BUSY,
    "robots-unreachable": RobotsKind.HANG_UP,
    "robots-huge": RobotsKind.HUGE,
    "robots-long-delay": RobotsKind.LONG_DELAY,
}
#: Faults of single resources.
ANSWER_FAULTS: tuple[str, ...] = (
    "redirect-loop",
    "redirect-long",
    "redirect-private",
    "forbidden",
    "busy",
    "overloaded",
    "server-error",
    "reset",
    "truncated",
    "drip",
    "silent",
    "chunking",
    "header-flood",
    "bomb",
    "overlong",
    "mistyped",
    "empty",
)
FAULTS: tuple[str, ...] = (*ROBOTS_FAULTS, *ANSWER_FAULTS)


class SiteProfile(msgspec.Struct, frozen=True):
    """How a host writes and answers."""

    language: str = "en"
    #: The encoding of its pages, the one its header names ("" for none), and the one its meta tag names.
    encoding: str = "utf-8"
    header: str = "utf-8"
    meta: str = "utf-8"
    robots: RobotsKind = RobotsKind.ABSENT
    compress: bool = False
    wire: WireBehaviour = WireBehaviour.LENGTH
    validators: Validators = Validators.BOTH


PROFILES: tuple[SiteProfile, ...] = (
    SiteProfile("en", "utf-8", "utf-8", "utf-8", _R.ABSENT, True, _LEN, _B),
    SiteProfile("de", "windows-1252", "windows-1252", "", _R.FOLDER, False, _LEN, _B),
    SiteProfile("zh", "gbk", "gbk", "gbk", _R.OPEN, True, _LEN, _E),
    SiteProfile("fr", "utf-8", "utf-8", "", _R.FORBIDDEN, False, _CHUNK, _M),
    SiteProfile("ja", "shift_jis", "Shift_JIS", "shift_jis", _R.ABSENT, False, _LEN, _B),
    SiteProfile("ru", "windows-1251", "windows-1251", "", _R.BOM, True, _CHUNK, _B),
    SiteProfile("ko", "euc-kr", "euc-kr", "", _R.FOLDER, False, _LEN, _E),
    SiteProfile("en", "utf-16", "", "", _R.ABSENT, False, _LEN, _B),
    SiteProfile("ru", "utf-8", "iso-8859-1", "utf-8", _R.MOVED_HERE, False, _LEN, _B),
    SiteProfile("fr", "windows-1252", "utf-8", "", _R.MOVED_AWAY, True, _LEN, _M),
    SiteProfile("ja", "utf-8", "", "utf-8", _R.OPEN, False, _LEN, _B),
    SiteProfile("zh", "gbk", "", "", _R.ABSENT, False, _LEN, _N),
    SiteProfile("en", "utf-8", "utf-8", "", _R.CLOSED, False, _LEN, _B),
    SiteProfile("de", "utf-8", "utf-8", "", _R.DELAY, True, _LEN, _B),
    SiteProfile("ko", "utf-8", "", "utf-8", _R.OPEN, False, _LEN, _E),
    SiteProfile("ru", "windows-1251", "", "windows-1251", _R.ABSENT, False, _LEN, _B),
    SiteProfile("zh", "utf-8", "utf-8", "", _R.FOLDER, True, _LEN, _M),
    SiteProfile("ja", "shift_jis", "", "shift_jis", _R.ABSENT, False, _LEN, _B),
    SiteProfile("en", "windows-1252", "", "", _R.ABSENT, False, _CLOSE, _N),
    SiteProfile("fr", "utf-8", "utf-8", "utf-8", _R.OPEN, True, _LEN, _B),
)
_QUICK = tuple(
    profile
    for profile in PROFILES
    if profile.robots not in (_R.CLOSED, _R.DELAY) and profile.wire is not WireBehaviour.UNTIL_CLOSE
)


class SimSite(msgspec.Struct, frozen=True, kw_only=True):
    """One host: ``size`` numbered pages, and what it is like."""

    seed: int
    index: int
    name: str
    size: int
    profile: SiteProfile
    #: The kind of fault it shows; "" for the hosts of the plain web.
    fault: str = ""

    @property
    def origin(self) -> str:
        """Scheme and host, as its URLs begin."""
        return f"http://{self.name}"

    @property
    def shut(self) -> bool:
        """Whether a crawler that obeys fetches nothing from it."""
        return self.profile.robots in SHUT

    @property
    def html(self) -> str:
        """The Content-Type of its pages."""
        return f"text/html; charset={self.profile.header}" if self.profile.header else "text/html"

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
        text = prose(self.profile.language, self.seed)
        word = text.slug(bits >> 8) if text.native_slugs and bits & 3 == 0 else slug(bits >> 8)
        if number % 9 == 5 and self.leaf(number):
            return f"{PRIVATE}{word}-{number}.html"
        sections = _sections()
        return f"/{sections[(bits >> 40) % len(sections)]}/{word}-{number}.html"

    def in_private_folder(self, number: int) -> bool:
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


def profile_of(seed: int, index: int) -> SiteProfile:
    """The profile of a plain host."""
    if index < len(PROFILES):
        return PROFILES[index]
    return _QUICK[mix(seed, index, 0x4AB) % len(_QUICK)]


class SiteSizes:
    """How many pages each plain host has: by Zipf's law, summing up to the number asked for."""

    def __init__(self, spec: WebSpec) -> None:
        # The exponent is a little below 1, so that the last of 20 hosts still has some ten pages out of 500.
        weights = [1.0 / (rank + 1) ** 0.8 for rank in range(spec.hosts)]
        scale = (spec.pages - spec.hosts) / sum(weights)
        self._counts = array("q", (1 + int(weight * scale) for weight in weights))
        for index, profile in enumerate(PROFILES[: spec.hosts]):
            if profile.robots in (_R.CLOSED, _R.DELAY):
                self._counts[index] = min(self._counts[index], _SMALL)
        self._counts[0] += spec.pages - sum(self._counts)
        self._heaps = array("d", accumulate(weights))

    def __getitem__(self, index: int) -> int:
        return self._counts[index]

    def draw(self, share: float) -> int:
        """The host on which a share of all links from 0 to 1 ends: the larger, the more often."""
        heaps = self._heaps
        return min(bisect_right(heaps, share * heaps[-1]), len(heaps) - 1)


def fault_name(fault: str) -> str:
    """The name of the host that shows a fault; each has a domain of its own, so that none slows another.

    >>> fault_name("reset")
    'www.reset-fault.test'
    """
    return f"www.{fault}-fault.test"


def fault_profile(fault: str) -> SiteProfile:
    """English, UTF-8, and nothing unusual but the fault."""
    return SiteProfile(robots=ROBOTS_FAULTS.get(fault, RobotsKind.ABSENT))


def fault_size(fault: str) -> int:
    """How many ordinary pages stand beside the fault."""
    return SHUT_LINKED if ROBOTS_FAULTS.get(fault) in SHUT else 1


class SimSites:
    """Every host of a web. It holds a name and a number per host, and nothing per page."""

    def __init__(self, spec: WebSpec) -> None:
        self.spec = spec
        self.sizes = SiteSizes(spec)
        self.faults = FAULTS if spec.faults else ()
        names = [plain_name(spec.seed, index) for index in range(spec.hosts)]
        names.extend(fault_name(fault) for fault in self.faults)
        self.names: tuple[str, ...] = tuple(names)
        self._places = {name: place for place, name in enumerate(names)}
        self.site = lru_cache(maxsize=4096)(self._site)
        self.url = lru_cache(maxsize=32768)(self._url)
        # Hosts on which special resources can be shown: quick ones, the first of them always among them.
        self._special_hosts = tuple(
            index
            for index, profile in enumerate(PROFILES[: spec.hosts])
            if profile.robots not in (RobotsKind.CLOSED, RobotsKind.DELAY)
        )

    def __repr__(self) -> str:
        return f"SimSites({len(self.names)} hosts, {self.spec.pages} pages)"

    def find(self, name: str) -> SimSite | None:
        """The host with this name."""
        place = self._places.get(name)
        return None if place is None else self.site(place)

    def all(self) -> Iterator[SimSite]:
        """Every host, the plain ones first."""
        return map(self.site, range(len(self.names)))

    def host_for(self, number: int) -> SimSite:
        """The host that shows the special resource with this number."""
        return self.site(self._special_hosts[number % len(self._special_hosts)])

    def hosts_for(self, number: int, count: int) -> tuple[SimSite, ...]:
        """Up to ``count`` different hosts, for what has to be seen on several."""
        count = min(count, len(self._special_hosts))
        return tuple(self.host_for(number + step) for step in range(count))

    def drawn(self, site: SimSite, first: int, second: int) -> str:
        """The URL of a page drawn by Zipf's law: half of the time on the same host."""
        index = site.index if first & 1 and not site.fault else self.sizes.draw(fraction(first))
        target = self.site(index)
        if target.shut:
            return self.url(index, 0)
        # A power with a uniform exponent is distributed as 1/n: few pages get most of the links.
        return self.url(index, min(int(target.size ** fraction(second)) - 1, target.size - 1))

    def _url(self, index: int, number: int) -> str:
        site = self.site(index)
        return site.origin + site.path(number)

    def _site(self, place: int) -> SimSite:
        spec = self.spec
        if place < spec.hosts:
            profile = profile_of(spec.seed, place)
            return SimSite(seed=spec.seed, index=place, name=self.names[place], size=self.sizes[place], profile=profile)
        fault = self.faults[place - spec.hosts]
        return SimSite(
            seed=spec.seed,
            index=place,
            name=self.names[place],
            size=fault_size(fault),
            profile=fault_profile(fault),
            fault=fault,
        )
