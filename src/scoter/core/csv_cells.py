"""Cells of CSV files that spreadsheets open safely.

A page can choose its title, and a spreadsheet takes a cell that begins with ``=`` for a formula, which may run programs
or send the other cells to a server. A quotation mark in front makes it a text.
"""

from __future__ import annotations

import re
from typing import Any

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# The wide forms are those that spreadsheets in East Asian languages accept.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_cell(value: Any, text: str, *, exact: bool = False) -> str:
    """Return the text of a cell, given the value that it shows: without control characters, and never a formula.

    Numbers stay as they are. ``exact`` keeps every text as it is, except for NUL, which CSV cannot have.

    >>> csv_cell("=1+1", "=1+1"), csv_cell(-5, "-5"), csv_cell("a\x1bb", "a\x1bb"), csv_cell("=1", "=1", exact=True)
    ("'=1+1", '-5', 'ab', '=1')
    """
    if exact:
        return text.replace("\0", "")
    if isinstance(value, int | float):
        return text
    plain = text if text.isprintable() else _CONTROL.sub("", text)
    return "'" + plain if plain.startswith(_FORMULA) else plain
