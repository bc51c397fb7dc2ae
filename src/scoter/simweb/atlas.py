"""The map: which hosts there are, and where a link drawn at random leads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from .dice import fraction
from .faultkinds import FAULTS, fault_habits, fault_name, fault_size
from .robots import RobotsKind
from .sites import HABITS, Site, Sizes, habits_of, plain_name
from .spec import WebSpec


class Atlas:
    """Every host of a web. It holds a name and a number per host, and nothing per page."""

    def __init__(self, spec: WebSpec) -> None:
        self.spec = spec
        self.sizes = Sizes(spec)
        self.faults = FAULTS if spec.faults else ()
        names = [plain_name(spec.seed, index) for index in range(spec.hosts)]
        names.extend(fault_name(fault) for fault in self.faults)
        self.names: tuple[str, ...] = tuple(names)
        self._places = {name: place for place, name in enumerate(names)}
        self.site = lru_cache(maxsize=4096)(self._site)
        self.url = lru_cache(maxsize=32768)(self._url)
        # Hosts on which special resources can be shown: quick ones, the first of them always among them.
        self._stages = tuple(
            index
            for index, habits in enumerate(HABITS[: spec.hosts])
            if habits.robots not in (RobotsKind.CLOSED, RobotsKind.DELAY)
        )

    def __repr__(self) -> str:
        return f"Atlas({len(self.names)} hosts, {self.spec.pages} pages)"

    def find(self, name: str) -> Site | None:
        """The host with this name."""
        place = self._places.get(name)
        return None if place is None else self.site(place)

    def sites(self) -> Iterator[Site]:
        """Every host, the plain ones first."""
        return map(self.site, range(len(self.names)))

    def stage(self, number: int) -> Site:
        """The host that shows the special resource with this number."""
        return self.site(self._stages[number % len(self._stages)])

    def stages(self, number: int, count: int) -> tuple[Site, ...]:
        """Up to ``count`` different hosts, for what has to be seen on several."""
        count = min(count, len(self._stages))
        return tuple(self.stage(number + step) for step in range(count))

    def drawn(self, site: Site, first: int, second: int) -> str:
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

    def _site(self, place: int) -> Site:
        spec = self.spec
        if place < spec.hosts:
            habits = habits_of(spec.seed, place)
            return Site(seed=spec.seed, index=place, name=self.names[place], size=self.sizes[place], habits=habits)
        fault = self.faults[place - spec.hosts]
        return Site(
            seed=spec.seed,
            index=place,
            name=self.names[place],
            size=fault_size(fault),
            habits=fault_habits(fault),
            fault=fault,
        )
