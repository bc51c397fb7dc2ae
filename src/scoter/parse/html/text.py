"""The words of a page: a line for each block, one space between words."""

from __future__ import annotations

from typing import Final

from selectolax.lexbor import LexborHTMLParser

from scoter.parse.vectors import may_have_two_blanks

_BREAK: Final = "\x1e"  # a control character that stands for the end of a line until white space is dealt with
_SPACES: Final = "\n\t\r\f\xa0"


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


def words(text: str, longest: int) -> str:
    """Return the words of a text on one line, cut where they become too many."""
    text = text[: 4 * longest]  # which spares the work on a page that is one long title
    if not text.isprintable() or "  " in text:  # else the only white space is one blank between words
        text = " ".join(text.split())
    return text.strip()[:longest]
