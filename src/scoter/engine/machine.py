"""How much memory there is for this process: the machine's, or what a container leaves of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

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
