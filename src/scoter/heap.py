"""Memory settings of long-running processes."""

from __future__ import annotations

import atexit
import gc
import sys
from contextlib import suppress
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_KEPT_FREE: Final = 16 * 2**20
_MAPPED_ABOVE: Final = 4 * 2**20  # if unset, setting the trim threshold makes glibc map large blocks one by one
_GC_THRESHOLD: Final = 50_000  # objects; a few megabytes


def keep_memory() -> None:
    """Let this process keep up to 16 MiB of free memory at the end of its heap (glibc only).

    A page's tree takes megabytes and is freed a millisecond later. By default glibc then returns the end of the heap to
    the kernel, and the next page faults it in again: on pages of 125 KB that is half the cost of building the tree
    (1,240 µs per page instead of 700, and 270 page faults instead of 5).

    All threads share one heap. With one heap per thread, every finished part of a segment cost another 5 MB.
    """
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_M_TRIM_THRESHOLD, _KEPT_FREE)
        library.mallopt(_M_MMAP_THRESHOLD, _MAPPED_ABOVE)
        library.mallopt(_M_ARENA_MAX, 1)


def collect_less() -> None:
    """Collect garbage less often, and never among the objects that exist now.

    By default Python scans its youngest objects after every 700 allocations. A message or a page in progress holds
    hundreds of objects, almost none of them in cycles: with many in progress, scanning took a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD, 10, 10)
    end_quickly()


def end_quickly() -> None:
    """Let this process end without searching for garbage, which its end frees anyway."""
    atexit.unregister(_prepare_end)  # once is enough, however often this is called
    atexit.register(_prepare_end)


def _prepare_end() -> None:
    # At the end of Python 3.14, DuckDB 1.5 aborts the process ("gilstate_tss_set: failed to set current tstate") unless
    # its objects were collected before.
    if sys.version_info >= (3, 14) and "duckdb" in sys.modules:
        gc.unfreeze()
    else:
        gc.freeze()


def give_back() -> None:
    """Return free memory to the kernel; call it after a large, rare operation."""
    import ctypes

    with suppress(OSError, AttributeError):  # there is no glibc
        ctypes.CDLL(None).malloc_trim(0)
