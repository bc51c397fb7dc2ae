"""Open the engine that the configuration names, with the memory that it may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from scoter.config import Config, Size
from scoter.engine.port import Engine, Progress
from scoter.errors import ConfigError, nearest
from scoter.extras import install_command

ENTRY_POINTS = "scoter.engine"
_MEMORY_SHARE = 0.6
_ROOT: Final = Path("/")


def open_engine(
    config: Config, folder: Path, progress: Progress = lambda share: None, *, memory_share: float = 1.0
) -> Engine:
    """Start the engine named by ``engine.kind``; it spills into a folder of its own below ``folder``.

    ``memory_share``: what the engine may use of the memory of a job, if the job holds large arrays itself.

    Engines are entry points of the group ``scoter.engine``: a callable that takes the configuration, the folder and a
    progress callback.
    """
    if memory_share < 1:
        limit = Size(int(memory_limit(config) * memory_share))
        config = replace(config, engine=replace(config.engine, memory_limit=limit))
    kind = config.engine.kind
    installed = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if kind not in installed:
        close = nearest(kind, installed)
        raise ConfigError(
            f"{kind!r} is not an engine" + (f"; did you mean {close!r}?" if close else ""),
            where="engine.kind",
            hint=f"Installed engines: {', '.join(sorted(installed))}.",
        )
    engine: Engine = installed[kind].load()(config, folder, progress)
    return engine


def open_duckdb(config: Config, folder: Path, progress: Progress) -> Engine:
    """Start the embedded engine."""
    from scoter.engine.duckdb import DuckDbEngine

    return DuckDbEngine(folder, memory_limit(config), progress=progress)


def open_spark(config: Config, folder: Path, progress: Progress) -> Engine:
    """Start Spark, on this machine or on the cluster of ``engine.spark_master``."""
    from scoter.engine.spark import SparkEngine, start_session

    if find_spec("pyspark") is None:
        hint = f"Run: {install_command('spark')}"
        raise ConfigError("Spark is not installed", where="engine.kind", hint=hint)
    session = start_session(folder, memory_limit(config), config.engine.spark_master, config.engine.spark_conf)
    return SparkEngine(folder, session, store=config.engine.spark_folder, is_own=True, progress=progress)


def memory_limit(config: Config) -> int:
    """Return the memory for a job in bytes: ``engine.memory_limit``, or 60 % of the available memory."""
    if config.engine.memory_limit is not None:
        return int(config.engine.memory_limit)
    return int(available_memory() * _MEMORY_SHARE)


def available_memory(root: Path = _ROOT) -> int:
    """Return the machine's memory in bytes, or the lowest limit of the control groups of this process.

    A process is killed when it exceeds the limit of its group, however much memory the machine has left.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_group_limits(root)])


def _group_limits(root: Path) -> Iterator[int]:
    for file in _limit_files(root):
        with suppress(OSError, ValueError):  # no such group, or "max"
            limit = int(file.read_text())
            if limit > 0:
                yield limit


def _limit_files(root: Path) -> Iterator[Path]:
    """Yield the limit files of the process's groups and of their parents, for both versions of cgroups."""
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
        # In a container the path may be the one outside of it; its own limits are then at the top.
        for each in (group, *(parent for parent in group.parents if parent.is_relative_to(top))):
            yield each / name
