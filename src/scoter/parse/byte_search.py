"""Byte searches in C, if Scoter was built with a compiler, or by numpy and Arrow, if those are already imported.

A process that writes tables has imported them; one that only previews links has not.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any, Final

from scoter.native import native_module

_native: Final = native_module("scoter.parse._bytes")
count_native: Callable[[bytes, int], int] | None = getattr(_native, "count", None)
is_utf8_native: Callable[[bytes], bool] | None = getattr(_native, "is_utf8", None)

_LONG: Final = 2_048  # characters or bytes; below, numpy's overhead dominates
_OFFSETS: Final = struct.Struct("=ii")
_LONGEST: Final = 2**31 - 1  # bytes of an Arrow string


def count_byte(data: bytes, byte: int) -> int:
    """Count the occurrences of a byte.

    >>> count_byte(b"<p>words</p>" * 1_000, ord("<"))
    2000
    """
    if count_native is not None:
        return count_native(data, byte)
    if len(data) < _LONG or "numpy" not in sys.modules:
        return data.count(byte)
    import numpy

    codes: Any = numpy.frombuffer(data, numpy.uint8)
    return int(numpy.count_nonzero(codes == byte))


def may_have_two_blanks(text: str) -> bool:
    """Return False only if the text is sure to have no two spaces in a row.

    The plain search takes a third of the time of text extraction or more, because branches at word ends are
    unpredictable. numpy compares without branches, ten times as fast, but only where characters are one byte each.
    """
    if len(text) < _LONG or "numpy" not in sys.modules or not text.isascii():
        return True
    import numpy

    codes: Any = numpy.frombuffer(text.encode("ascii"), numpy.uint8)
    return b" " in (codes[1:] | codes[:-1]).tobytes()


def is_whole_utf8(data: bytes) -> bool:
    """Tell whether all bytes are valid UTF-8.

    >>> is_whole_utf8("naïve".encode() * 1_000), is_whole_utf8("naïve".encode("latin-1") * 1_000)
    (True, False)
    """
    if is_utf8_native is not None:
        return is_utf8_native(data)
    if _LONG <= len(data) <= _LONGEST and "pyarrow" in sys.modules:  # a fifth of the time, as it creates no str
        import pyarrow

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
