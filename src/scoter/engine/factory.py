"""From the configuration to an engine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from scoter.config import Config
from scoter.engine.port import Engine, Progress
from scoter.errors import ConfigError, nearest

GROUP = "scoter.engine"
_OF_THE_MACHINE = 0.6


def open_engine(config: Config, folder: Path, progress: Progress = lambda share: None) -> Engine:
    """Start the engine that ``engine.kind`` names; a folder of its own in ``folder`` takes what it spills.

    Engines are found by the entry points of the group ``scoter.engine``: a callable that takes the configuration, the
    folder and whom to tell of progress.
    """
    kind = config.engine.kind
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if kind not in found:
        close = nearest(kind, found)
        raise ConfigError(
            f"{kind!r} is not an engine" + (f"; did you mean {close!r}?" if close else ""),
            where="engine.kind",
            hint=f"Installed: {', '.join(sorted(found))}.",
        )
    opened: Engine = found[kind].load()(config, folder, progress)
    return opened


def open_duckdb(config: Config, folder: Path, progress: Progress) -> Engine:
    """Start the embedded engine."""
    from scoter.engine.duckdb import DuckDbEngine

    return DuckDbEngine(folder, memory_limit(config), progress=progress)


def open_spark(config: Config, folder: Path, progress: Progress) -> Engine:
    """Start Spark in local mode."""
    from scoter.engine.spark import SparkEngine

    if find_spec("pyspark") is None:
        hint = "Run: pip install 'scoter[spark]'"
        raise ConfigError("Spark is not installed", where="engine.kind", hint=hint)
    return SparkEngine(folder, memory_limit(config), threads=os.cpu_count() or 1, progress=progress)


def memory_limit(config: Config) -> int:
    """Return the memory of a job in bytes: what the configuration says, or 60 % of what there is."""
    if config.engine.memory_limit is not None:
        return int(config.engine.memory_limit)
    return int(memory_of_machine() * _OF_THE_MACHINE)


_ROOT: Final = Path("/")


def memory_of_machine(root: Path = _ROOT) -> int:
    """Return the machine's memory in bytes, or the least that a control group of this process allows.

    Beyond the limit of its group a process is killed, however much memory the machine has left.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_allowed(root)])


def _allowed(root: Path) -> Iterator[int]:
    for file in _limits(root):
        with suppress(OSError, ValueError):  # there is no such group, or "max"
            limit = int(file.read_text())
            if limit > 0:
                yield limit


def _limits(root: Path) -> Iterator[Path]:
    """Yield the files of the process's groups and of all that these are in, in both versions of Linux's interface."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            top, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            top, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = top / path.strip("/")
        # In a container the path may be that outside of it: what it does have lies at the top.
        for each in (group, *(parent for parent in group.parents if parent.is_relative_to(top))):
            yield each / name
