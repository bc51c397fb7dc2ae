"""Searches that numpy makes in a fraction of the time, where it is loaded: it is not worth being loaded for them.

A process that writes tables has it; one that only previews links has not.
"""

from __future__ import annotations

import sys
from typing import Any, Final

_LONG: Final = 2_048  # characters, or bytes; below, numpy's own overhead is what counts


def count_byte(data: bytes, byte: int) -> int:
    """Return how often a byte stands in data.

    >>> count_byte(b"<p>words</p>" * 1_000, ord("<"))
    2000
    """
    if len(data) < _LONG or "numpy" not in sys.modules:
        return data.count(byte)
    import numpy

    codes: Any = numpy.frombuffer(data, numpy.uint8)
    return int(numpy.count_nonzero(codes == byte))


def may_have_two_blanks(text: str) -> bool:
    """Tell whether two blanks may follow each other; a no is certain.

    To search for them takes a third of all that the text takes, or more, since no processor foresees where words end.
    numpy compares without looking for an end, ten times as fast; not so where characters have more than one byte.
    """
    if len(text) < _LONG or "numpy" not in sys.modules or not text.isascii():
        return True
    import numpy

    codes: Any = numpy.frombuffer(text.encode("ascii"), numpy.uint8)
    return b" " in (codes[1:] | codes[:-1]).tobytes()
