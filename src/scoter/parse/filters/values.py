"""How what a filter finds becomes metadata: one line a value, a tab between several, and no more than so much of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import structs

from scoter.core.page import Page

SEPARATOR: Final = "\t"
"""What stands between the values of one key; no value has one in it."""
MOST_VALUES: Final = 100
LONGEST_VALUE: Final = 2_000
LONGEST_TOGETHER: Final = 16_384

_CONTROLS: Final = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")


def one_line(text: str) -> str:
    """Return a text with one space for any white space or control characters, cut where it is too long.

    >>> one_line("  Grey\\t seals\\x00\\n")
    'Grey seals'
    """
    # Half a character, which a parser other than ours may leave in, can be stored nowhere.
    whole = text[: 4 * LONGEST_VALUE].encode("utf-8", "replace").decode()
    return " ".join(whole.translate(_CONTROLS).split())[:LONGEST_VALUE].rstrip()


def together(values: Iterable[str]) -> str:
    """Return the values of one key as one text: each once, in their order, without empty ones.

    >>> together(["Grey seals", "Walrus", " ", "Walrus"])
    'Grey seals\\tWalrus'
    """
    kept: dict[str, None] = {}
    room = LONGEST_TOGETHER
    for value in values:
        line = one_line(value)
        if not line or line in kept:
            continue
        room -= len(line) + 1
        if room < 0 or len(kept) == MOST_VALUES:
            break
        kept[line] = None
    return SEPARATOR.join(kept)


def apart(text: str) -> tuple[str, ...]:
    """Return the values that ``together`` made one text of.

    >>> apart("Grey seals\\tWalrus"), apart("")
    (('Grey seals', 'Walrus'), ())
    """
    return tuple(text.split(SEPARATOR)) if text else ()


def with_metadata(page: Page, found: Mapping[str, str]) -> Page:
    """Return the page with what was found beside what it has; an empty value is none."""
    added = {key: value for key, value in found.items() if value}
    return structs.replace(page, metadata={**page.metadata, **added}) if added else page
