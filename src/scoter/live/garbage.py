"""Looking for garbage less often, in processes that run for long and make little of it.

Python looks through its youngest objects after every 700 that stay. A message leaves hundreds behind for as long as it
is under way, and next to none in cycles: with many under way a tenth of the core's time went into looking.
"""

from __future__ import annotations

import gc
from typing import Final

_STAY: Final = 10_000  # objects; some megabytes at most


def collect_less() -> None:
    """Look for garbage after more objects than usual, and never among those that are there now."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_STAY, 10, 10)
