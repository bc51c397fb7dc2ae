"""Text that means itself in Markdown (CommonMark, and tables and strikethrough of GitHub's)."""

from __future__ import annotations

import re
from typing import Final

_SPECIAL: Final = re.compile(r"[\\`*\[\]<~|_&]")
_REFERENCE: Final = re.compile(r"&(?:#?\w{1,32};|\Z)")
# What would begin a heading, a list, a quotation, a rule or the line under a table's header.
_AT_START: Final = re.compile(r"(?:[>#]|[-+=](?=[-+=\s]|\Z)|:(?=-))|(\d{1,9})(?=[.)](?:\s|\Z))")
_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ue000-\uf8ff\U000f0000-\U0010ffff\u200b\ufeff]"
)
_RUNS: Final = re.compile("`+")
_FENCE: Final = 3


def escaped(text: str) -> str:
    r"""Return text in which no character means anything.

    >>> escaped("a * b_c [1] <br> &amp; _d_")
    'a \\* b_c \\[1\\] \\<br> \\&amp; \\_d\\_'
    """
    return _SPECIAL.sub(_spared, text)


def _spared(found: re.Match[str]) -> str:
    sign, text, place = found[0], found.string, found.start()
    if sign == "_":
        # Within a word it is none of emphasis, and names of functions stay readable.
        if text[place - 1 : place].isalnum() and text[place + 1 : place + 2].isalnum():
            return sign
    elif sign == "&" and _REFERENCE.match(text, place) is None:
        return sign
    return "\\" + sign


def line_start(text: str) -> str:
    r"""Return a line that begins no block of its own.

    >>> line_start("1986. A good year"), line_start("# 1"), line_start("-5")
    ('1986\\. A good year', '\\# 1', '-5')
    """
    found = _AT_START.match(text)
    if found is None:
        return text
    if found[1] is not None:
        return f"{found[1]}\\{text[found.end() :]}"
    return "\\" + text


def clean(text: str) -> str:
    """Return text without characters that nothing shows: controls, and the private ones that icon fonts draw."""
    return _CONTROL.sub("", text)


def code_span(text: str) -> str:
    """Return text as code within a line.

    >>> code_span("a"), code_span("`a`")
    ('`a`', '`` `a` ``')
    """
    ticks = "`" * (1 + _longest_run(text, of_length=1))
    space = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def code_block(text: str, language: str) -> str:
    """Return text as a fenced block of code, in a fence that nothing in it closes."""
    fence = "`" * max(_FENCE, 1 + _longest_run(text, of_length=_FENCE))
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_run(text: str, of_length: int) -> int:
    return max((len(run) for run in _RUNS.findall(text) if len(run) >= of_length), default=0)
