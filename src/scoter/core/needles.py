"""Tell whether any of several byte strings occurs in others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import re2  # type: ignore[import-untyped]

from scoter.native import native_module

SHORTEST: Final = 6  # as in _needles.c
MOST: Final = 64
occur_native: Callable[[bytes, tuple[bytes, ...]], bool] | None = getattr(
    native_module("scoter.core._needles"), "occur", None
)
"""Whether one of some byte strings occurs, in C: it looks at every fourth place, in a fifth of the time of RE2."""

_BYTES: Final = re2.Options()
_BYTES.encoding = re2.Options.Encoding.LATIN1


class Needles:
    """Byte strings to look for, all at once.

    >>> needles = Needles(b"harbour", b"lighthouse")
    >>> needles.occur_in(b"the lighthouse"), needles.occur_in(b"the house")
    (True, False)
    """

    def __init__(self, *needles: bytes) -> None:
        if len(needles) > MOST or min(map(len, needles)) < SHORTEST:
            raise ValueError(f"expected at most {MOST} byte strings of at least {SHORTEST} bytes")
        self._needles = needles
        self._pattern = re2.compile(b"|".join(map(re.escape, needles)), _BYTES)

    def occur_in(self, data: bytes) -> bool:
        """Tell whether one of them occurs in the data."""
        if occur_native is not None:
            return occur_native(data, self._needles)
        return self._pattern.search(data) is not None
