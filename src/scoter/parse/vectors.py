"""Searches that numpy and Arrow make in a fraction of the time, where they are loaded: for this alone they are not.

A process that writes tables has them; one that only previews links has not.
"""

from __future__ import annotations

import struct
import sys
from typing import Any, Final

_LONG: Final = 2_048  # characters, or bytes; below, numpy's own overhead is what counts
_OFFSETS: Final = struct.Struct("=ii")
_LONGEST: Final = 2**31 - 1  # bytes that a string of Arrow's may have


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


def is_whole_utf8(data: bytes) -> bool:
    """Tell whether bytes are UTF-8, all of them.

    >>> is_whole_utf8("naïve".encode() * 1_000), is_whole_utf8("naïve".encode("latin-1") * 1_000)
    (True, False)
    """
    if _LONG <= len(data) <= _LONGEST and "pyarrow" in sys.modules:  # which makes no text of them, a fifth of the time
        import pyarrow  # type: ignore[import-untyped]

        bounds: Any = pyarrow.py_buffer(_OFFSETS.pack(0, len(data)))
        try:
            pyarrow.StringArray.from_buffers(1, bounds, pyarrow.py_buffer(data)).validate(full=True)
        except pyarrow.ArrowInvalid:
            return False
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
