"""A page whose characters are known; ``encoding``, which finds them out, is compiled and may hold no ``Struct``."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Why: TypeAlias = Literal["bom", "http", "meta", "xml", "utf-8", "detector", "default"]


class Decoded(Struct, frozen=True):
    """A page as UTF-8, with the name of the encoding it came in, how that was found out, and how much was invalid.

    ``why`` is a byte order mark, the server's word, a declaration of the page's own, that it is valid ``utf-8``, the
    detector, or nothing but the default. ``replaced`` counts the characters that became U+FFFD, or were it already.
    """

    utf8: bytes
    encoding: str
    why: Why
    replaced: int = 0
