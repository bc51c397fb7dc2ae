"""The words of a page: a line for each block, one space between words."""

from __future__ import annotations

import sys
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

_BREAK: Final = "\x1e"  # a control character that stands for the end of a line until white space is dealt with
_SPACES: Final = "\n\t\r\f\xa0"
_BLANK: Final = 32
_LONG: Final = 2_048  # characters


def whole_text(tree: LexborHTMLParser) -> str:
    """Return the text that is left in a tree whose text-level elements have been taken apart."""
    body = tree.body
    if body is None:
        return ""
    body.merge_text_nodes()
    text = body.text(separator=_BREAK, strip=True, skip_empty=True)
    for space in _SPACES:
        if space in text:
            text = text.replace(space, " ")
    if may_have_two_blanks(text):
        # One search instead of one for each doubling and another for the end.
        pieces = text.split("  ")
        if len(pieces) > 1:
            text = " ".join([piece for part in pieces if (piece := part.strip(" "))])
    return text.replace(_BREAK, "\n").strip()


def may_have_two_blanks(text: str) -> bool:
    """Tell whether two blanks may follow each other; a no is certain.

    To search for them takes a third of all that the text takes, or more, since no processor foresees where words end.
    numpy compares without looking for an end, and takes a fraction of that; it is not worth being loaded for it.
    """
    if len(text) < _LONG or "numpy" not in sys.modules:
        return True
    import numpy

    codes: Any
    if text.isascii():
        codes = numpy.frombuffer(text.encode("ascii"), numpy.uint8)
        return b" " in (codes[1:] | codes[:-1]).tobytes()
    codes = numpy.frombuffer(text.encode("utf-16-le", "surrogatepass"), numpy.uint16)
    return bool(((codes[1:] | codes[:-1]) == _BLANK).any())


def words(text: str, longest: int) -> str:
    """Return the words of a text on one line, cut where they become too many."""
    text = text[: 4 * longest]  # which spares the work on a page that is one long title
    if not text.isprintable() or "  " in text:  # else the only white space is one blank between words
        text = " ".join(text.split())
    return text.strip()[:longest]
