"""Words that symbols belong to, such as ``--onto``, ``C++``, ``.bashrc`` and ``print(``, as terms of their own.

The analysers of fields drop symbols, so that ``-D`` would find every *d*. These terms are indexed beside the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

SYMBOL: Final = "symbol"
"""The field."""
MOST_SYMBOLS: Final = 2_000
"""Terms of one document."""
_LONGEST_NAME: Final = 40
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2212"

# Each begins with its symbol, which the regex engine finds fast, and only then looks at what is before it.
_OPTION: Final = re.compile(r"-(?<![\w-]-)(-?)(\[no-\])?([A-Za-z][\w-]*|\d{1,2}(?![\w.]))")
_PLUS: Final = re.compile(r"\+\+(?<=\w\+\+)")
_SHARP: Final = re.compile(r"#(?<=\w#)(?!\w)")
_CALL: Final = re.compile(r"\((?<=\w\()")
_PREFIXED: Final = tuple(re.compile(rf"\{sign}(?<![\w.)\]}}]\{sign})[A-Za-z]\w*") for sign in ".@$#")
_DUNDER: Final = re.compile(r"__(?<!\w__)[A-Za-z]\w*__\b")
_LAST_NAME: Final = re.compile(r"\w+$")


def symbols_of(text: str) -> Iterator[str]:
    """Yield the words with symbols of a text; lower case does not matter, except in options of one letter.

    >>> list(symbols_of("git-rebase --onto, branch [-D] in C++ and .NET: open(x) reads ~/.bashrc"))
    ['--onto', '-D', 'c++', 'open(', '.net', '.bashrc']
    """
    if not text.isascii():
        for dash in _DASHES:  # translate() takes fifty times as long
            text = text.replace(dash, "-")
    if "-" in text:
        for dash, negation, name in _OPTION.findall(text):
            yield f"-{dash}{name}" if len(name) == 1 else f"-{dash}{name.lower().rstrip('-')}"
            if negation:
                yield f"--no-{name.lower()}"
    for sign, pattern in (("++", _PLUS), ("#", _SHARP), ("(", _CALL)):
        if sign in text:
            for found in pattern.finditer(text):
                at = found.start()
                name = _LAST_NAME.search(text[max(0, at - _LONGEST_NAME) : at])
                if name is not None:
                    yield name[0].lower() + sign
    for sign, pattern in zip(".@$#", _PREFIXED, strict=True):
        if sign in text:
            yield from map(str.lower, pattern.findall(text))
    if "__" in text:
        yield from map(str.lower, _DUNDER.findall(text))
