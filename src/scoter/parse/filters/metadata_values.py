"""Metadata values: single lines, joined by tabs, bounded in number and length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import structs

from scoter.core.page import VALUE_SEPARATOR, Page

MOST_VALUES: Final = 100
LONGEST_VALUE: Final = 2_000
LONGEST_TOGETHER: Final = 16_384

_CONTROLS: Final = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")


def one_line(text: str) -> str:
    """Collapse white space and control characters to single spaces and truncate the text.

    >>> one_line("  Grey\\t seals\\x00\\n")
    'Grey seals'
    """
    # A third-party parser may leave lone surrogates, which cannot be stored.
    whole = text[: 4 * LONGEST_VALUE].encode("utf-8", "replace").decode()
    return " ".join(whole.translate(_CONTROLS).split())[:LONGEST_VALUE].rstrip()


def join_values(values: Iterable[str]) -> str:
    """Join the values of one key, in order, without duplicates and empty ones.

    >>> join_values(["Grey seals", "Walrus", " ", "Walrus"])
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
    return VALUE_SEPARATOR.join(kept)


def with_metadata(page: Page, found: Mapping[str, str]) -> Page:
    """Return the page with these values added to its metadata; empty ones are skipped."""
    added = {key: value for key, value in found.items() if value}
    return structs.replace(page, metadata={**page.metadata, **added}) if added else page
