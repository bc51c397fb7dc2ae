"""The hosts: their names, sizes and profiles, the faults some of them show, and the index of all of them.

The first twenty profiles are written by hand, so that a web of twenty hosts shows every feature without faults. Later
hosts draw theirs from the fast ones among these.
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

#: Page n has the children 8n+1 to 8n+8, so a host with a million pages is seven levels deep.
BRANCHES = 8
#: Pages of a closed host that are linked from elsewhere.
SHUT_LINKED = 3
#: Hosts that are closed or have a Crawl-delay stay small, so that they do not dominate the duration of a crawl.
_SMALL = 12

CONTROL = "control.simweb.test"
_B, _E, _M, _N = Validators.BOTH, Validators.ETAG, Validators.MODIFIED, Validators.NONE
_LEN, _CHUNK, _CLOSE = WireBehaviour.LENGTH, WireBehaviour.CHUNKED, WireBehaviour.UNTIL_CLOSE
_R = RobotsKind
_LABELS = ("www.", "blog.", "shop.", "www.", "")
_DOMAIN_STEPS = (0, 0, 0, 1, 2)
#: Faults of robots.txt, which affect the whole host.
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
    """How a host writes and serves its pages."""

    language: str = "en"
    #: The encoding of its pages, and those that the header and the meta element declare ("" for none).
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
    """One host: its profile and the number of its pages."""

    seed: int
    index: int
    name: str
    size: int
    profile: SiteProfile
    #: The fault that it demonstrates, or "".
    fault: str = ""

    @property
    def origin(self) -> str:
        """Scheme and host."""
        return f"http://{self.name}"

    @property
    def shut(self) -> bool:
        """Whether an obedient crawler fetches nothing from it."""
        return self.profile.robots in SHUT

    @property
    def html(self) -> str:
        """The Content-Type of its pages."""
        return f"text/html; charset={self.profile.header}" if self.profile.header else "text/html"

    def leaf(self, number: int) -> bool:
        """Tell whether a page has no children."""
        return BRANCHES * number + 1 >= self.size

    def bits(self, number: int) -> int:
        """Return the random bits of a page."""
        return mix(self.seed, self.index, number)

    def path(self, number: int) -> str:
        """Return the path of a numbered page."""
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
        """Tell whether a page is in the folder that some robots.txt files disallow."""
        return number % 9 == 5 and self.leaf(number)


@lru_cache(maxsize=1)
def _sections() -> tuple[str, ...]:
    return words("sections")


def plain_name(seed: int, index: int) -> str:
    """Return the name of a host without fault: five of them share three registered domains."""
    group, rest = divmod(index, 5)
    number = group * 3 + _DOMAIN_STEPS[rest]
    return _LABELS[rest] + domain(seed, number, international=number % 7 == 2)


def profile_of(seed: int, index: int) -> SiteProfile:
    """Return the profile of a host without fault."""
    if index < len(PROFILES):
        return PROFILES[index]
    return _QUICK[mix(seed, index, 0x4AB) % len(_QUICK)]


class SiteSizes:
    """The number of pages of each host without fault, by Zipf's law; the sum is as specified."""

    def __init__(self, spec: WebSpec) -> None:
        # The exponent is slightly below 1, so that the last of 20 hosts still gets about ten of 500 pages.
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
        """Map a fraction from 0 to 1 to a host, larger hosts more often."""
        heaps = self._heaps
        return min(bisect_right(heaps, share * heaps[-1]), len(heaps) - 1)


def fault_name(fault: str) -> str:
    """Return the name of the host with a fault; each has its own domain, so that none slows another.

    >>> fault_name("reset")
    'www.reset-fault.test'
    """
    return f"www.{fault}-fault.test"


def fault_profile(fault: str) -> SiteProfile:
    """Return a profile with nothing unusual but the fault."""
    return SiteProfile(robots=ROBOTS_FAULTS.get(fault, RobotsKind.ABSENT))


def fault_size(fault: str) -> int:
    """Return the number of ordinary pages of a host with this fault."""
    return SHUT_LINKED if ROBOTS_FAULTS.get(fault) in SHUT else 1


class SimSites:
    """Index of all hosts of a web. It stores a name and a number per host, and nothing per page."""

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
        # Hosts for special resources: fast ones, always including the first.
        self._special_hosts = tuple(
            index
            for index, profile in enumerate(PROFILES[: spec.hosts])
            if profile.robots not in (RobotsKind.CLOSED, RobotsKind.DELAY)
        )

    def __repr__(self) -> str:
        return f"SimSites({len(self.names)} hosts, {self.spec.pages} pages)"

    def find(self, name: str) -> SimSite | None:
        """Return the host with this name."""
        place = self._places.get(name)
        return None if place is None else self.site(place)

    def all(self) -> Iterator[SimSite]:
        """Yield every host, those without faults first."""
        return map(self.site, range(len(self.names)))

    def host_for(self, number: int) -> SimSite:
        """Return the host for the special resources with this number."""
        return self.site(self._special_hosts[number % len(self._special_hosts)])

    def hosts_for(self, number: int, count: int) -> tuple[SimSite, ...]:
        """Return up to ``count`` different hosts, for resources that several hosts share."""
        count = min(count, len(self._special_hosts))
        return tuple(self.host_for(number + step) for step in range(count))

    def drawn(self, site: SimSite, first: int, second: int) -> str:
        """Return the URL of a page drawn by Zipf's law, half of the time on the same host."""
        index = site.index if first & 1 and not site.fault else self.sizes.draw(fraction(first))
        target = self.site(index)
        if target.shut:
            return self.url(index, 0)
        # A power with a uniform exponent is distributed as 1/n, so few pages get most of the links.
        return self.url(index, min(int(target.size ** fraction(second)) - 1, target.size - 1))

    def _url(self, index: int, number: int) -> str:
        site = self.site(index)
        return site.origin + site.path(number)

    def _site(self, place: int) -> SimSite:
        spec = self.spec
        fault = self.faults[place - spec.hosts] if place >= spec.hosts else ""
        profile = fault_profile(fault) if fault else profile_of(spec.seed, place)
        size = fault_size(fault) if fault else self.sizes[place]
        return SimSite(seed=spec.seed, index=place, name=self.names[place], size=size, profile=profile, fault=fault)
