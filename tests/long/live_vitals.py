"""What the processes of a service use over time: memory of their own, and open files."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.long.memory import slope
from tests.web.service.running import CORE, FETCHER, LOOKUPS, Service, family, words

WARM_UP = 0.3  # of the time, in which caches fill
AT_LEAST = 60.0  # seconds of it: within the first minute the core loads what it writes its log with, some 40 MiB
GROWTH = 0.75  # MiB a minute
STEP = 6.0  # MiB; less than this in all is a few more pages of an allocator, and in a short run a steep line
FILES = 30  # more than before, of connections that come and go
CACHED = 40.0  # MiB of the database that the core keeps in memory at most, by its two connections

_NAMES = {CORE: "core", LOOKUPS: "lookup process", FETCHER: "fetcher", "scoter.cli.main": "supervisor"}


class Vitals(NamedTuple):
    """One look at a process."""

    at: float
    memory: float
    files: int


class Watch:
    """Looks at every process of a service."""

    def __init__(self, live: Service) -> None:
        self._live = live
        self.seen: defaultdict[tuple[str, int], list[Vitals]] = defaultdict(list)

    def look(self) -> None:
        """Note what each uses. Of the core what it has cached of its database does not count: that grows to a bound."""
        cached = min(CACHED, sum(file.stat().st_size for file in self._live.folder.glob("service.sqlite*")) / 2**20)
        root = self._live.process.pid
        for pid in (root, *family(root)):
            name = next((name for module, name in _NAMES.items() if module in words(pid)), "")
            if name:
                with suppress(OSError):
                    vitals = Vitals(
                        time.monotonic(),
                        _own_mib(pid) - (cached if name == "core" else 0.0),
                        sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()),
                    )
                    self.seen[name, pid].append(vitals)

    def judge(self, fetchers: int, lookups: int) -> list[str]:
        """Print what was seen; return what is wrong with it."""
        problems = []
        expected = {"supervisor": 1, "core": 1, "fetcher": fetchers, "lookup process": lookups}
        for name, count in expected.items():
            found = sum(kind == name for kind, _ in self.seen)
            if found != count:
                problems.append(f"there were {found} processes that are a {name}, not {count}")
        for (name, pid), looks in self.seen.items():
            settled = [look for look in looks[int(WARM_UP * len(looks)) :] if look.at - looks[0].at >= AT_LEAST]
            if len(settled) < 2:
                problems.append(f"the {name} ({pid}) was there for less than a minute, too short to judge its memory")
                continue
            growth = 60 * slope([(look.at, look.memory) for look in settled])
            grown = growth * (settled[-1].at - settled[0].at) / 60
            half = len(settled) // 2
            before, after = (max(look.files for look in part) for part in (settled[:half], settled[half:]))
            course = " ".join(f"{looks[at * (len(looks) - 1) // 5].memory:.0f}" for at in range(6))
            print(f"  {name:<16}{growth:>+7.2f} MiB a minute ({course}); {before} then {after} open files")
            if growth > GROWTH and grown > STEP:
                problems.append(f"the memory of the {name} ({pid}) grows by {growth:.2f} MiB a minute")
            if after > before + FILES:
                problems.append(f"the {name} ({pid}) has {after} files open, {before} before")
        return problems


def _own_mib(pid: int) -> float:
    # proc(5): RssAnon leaves out what is mapped of files, which for a lookup process is the database.
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0.0
