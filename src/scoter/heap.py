"""The memory of a process that works for long."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_KEPT: Final = 16 * 2**20
_OF_THE_HEAP: Final = 4 * 2**20  # without it, setting the other would leave large blocks to be mapped one by one
_STAY: Final = 50_000  # objects; some megabytes


def keep_memory() -> None:
    """Let this process keep up to 16 MiB of free memory at the end of its heap; nothing happens without glibc.

    A page's tree takes megabytes and is gone a millisecond later. glibc then gives the end of the heap back to the
    kernel, and the next page takes it again, a page fault for every 4 KiB: on pages of 125 KB that is half of what
    building the tree costs (1,240 µs a page against 700, and 270 faults against 5).

    All threads take from the same heap. Each would have one of its own else, for what a thread does once a minute and
    the next time another one does: 5 MB for every part of a segment that was finished.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_M_TRIM_THRESHOLD, _KEPT)
        library.mallopt(_M_MMAP_THRESHOLD, _OF_THE_HEAP)
        library.mallopt(_M_ARENA_MAX, 1)


def collect_less() -> None:
    """Look for garbage after more objects than usual, and never among those that are there now.

    Python looks through its youngest objects after every 700 that stay. A message or a page leaves hundreds behind for
    as long as it is under way, and next to none in cycles: with many under way a tenth of the time went into looking.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_STAY, 10, 10)


def give_back() -> None:
    """Give memory that is free to the kernel, wherever it lies; for after something large that is done seldom."""
    with suppress(OSError, AttributeError):  # there is no glibc
        ctypes.CDLL(None).malloc_trim(0)
