"""The memory of a process over time, and whether it grows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def resident_mib(pid: int | str = "self") -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the line that fits points best, by least squares.

    >>> slope([(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)])
    2.0
    """
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
