"""Memory and open files of a service's processes over time."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.live.service.running import CORE, FETCHER, LOOKUPS, Service, family, words
from tests.long.memory import slope

WARM_UP = 0.3  # of the time, in which caches fill
AT_LEAST = 60.0  # seconds: in the first minute the core loads the libraries for its log, some 40 MiB
GROWTH = 0.75  # MiB per minute
STEP = 6.0  # MiB; less growth in total is allocator noise
SHORT = 300.0  # seconds: in a shorter time ...
SHORT_STEP = 12.0  # ... the noise has been 9 MiB
FILES = 30  # additional open files allowed for short-lived connections
CACHED = 40.0  # MiB of database cache in the core at most

_NAMES = {CORE: "core", LOOKUPS: "lookup process", FETCHER: "fetcher", "scoter.cli.main": "supervisor"}


class ProcessSample(NamedTuple):
    """Memory and open files of a process at one moment."""

    at: float
    memory: float
    files: int


class ProcessMonitor:
    """Samples every process of a service."""

    def __init__(self, live: Service) -> None:
        self._live = live
        self.seen: defaultdict[tuple[str, int], list[ProcessSample]] = defaultdict(list)

    def sample(self) -> None:
        """Sample each process. The core's database cache does not count, because its size is limited."""
        cached = min(CACHED, sum(file.stat().st_size for file in self._live.folder.glob("service.sqlite*")) / 2**20)
        root = self._live.process.pid
        for pid in (root, *family(root)):
            name = next((name for module, name in _NAMES.items() if module in words(pid)), "")
            if name:
                with suppress(OSError):
                    vitals = ProcessSample(
                        time.monotonic(),
                        _own_mib(pid) - (cached if name == "core" else 0.0),
                        sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()),
                    )
                    self.seen[name, pid].append(vitals)

    def check(self, fetchers: int, lookups: int) -> list[str]:
        """Print the development of each process, and return what is wrong."""
        problems = []
        expected = {"supervisor": 1, "core": 1, "fetcher": fetchers, "lookup process": lookups}
        for name, count in expected.items():
            found = sum(kind == name for kind, _ in self.seen)
            if found != count:
                problems.append(f"there were {found} processes of kind {name}, not {count}")
        for (name, pid), looks in self.seen.items():
            settled = [look for look in looks[int(WARM_UP * len(looks)) :] if look.at - looks[0].at >= AT_LEAST]
            if len(settled) < 2:
                problems.append(f"the {name} ({pid}) ran for less than a minute, too short to check its memory")
                continue
            growth = 60 * slope([(look.at, look.memory) for look in settled])
            passed = settled[-1].at - settled[0].at
            grown = growth * passed / 60
            half = len(settled) // 2
            before, after = (max(look.files for look in part) for part in (settled[:half], settled[half:]))
            course = " ".join(f"{looks[at * (len(looks) - 1) // 5].memory:.0f}" for at in range(6))
            print(f"  {name:<16}{growth:>+7.2f} MiB/min ({course}); {before} then {after} open files")
            if growth > GROWTH and grown > (STEP if passed >= SHORT else SHORT_STEP):
                problems.append(f"the memory of the {name} ({pid}) grows by {growth:.2f} MiB/min")
            if after > before + FILES:
                problems.append(f"the {name} ({pid}) has {after} files open, {before} before")
        return problems


def _own_mib(pid: int) -> float:
    # proc(5): RssAnon leaves out what is mapped of files, which for a lookup process is the database.
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0.0
