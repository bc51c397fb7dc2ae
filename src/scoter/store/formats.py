"""Whether this version of Scoter can read a stored format.

What Scoter stores begins with, or has beside it, the number of its format. A number above the newest that this version
knows means that the data is fine and Scoter is too old; so it is checked before anything else is decoded, which might
look like damage.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from scoter.errors import MadeByNewer


class _Numbered(Struct, frozen=True):
    format: int


def check_format(what: str, found: int, known: int, *, where: str = "", hint: str = "") -> None:
    """Raise ``MadeByNewer`` if a format is newer than the newest known."""
    if found > known:
        raise MadeByNewer(what, found, known, where=where, hint=hint)


def check_json_format(what: str, data: bytes, known: int, *, where: str = "", hint: str = "") -> None:
    """Do so for a JSON object with a field ``format``; leave what cannot be decoded to the caller's own decoder."""
    try:
        found = msgspec.json.decode(data, type=_Numbered).format
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    check_format(what, found, known, where=where, hint=hint)
