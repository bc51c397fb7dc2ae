"""Which pages cannot take long to parse, told without parsing them.

Lexbor cannot be interrupted, and some pages of a few hundred kilobytes cost it minutes. What is quadratic in
selectolax 1.0.2 (Lexbor's own time on one core, without this):

- nesting: 5,000 nested ``<div>`` 36 ms, 20,000 0.9 s; and every end tag that finds no partner looks through all that
  is open: 20,000 ``</p>`` in 5,000 ``<div>`` 0.3 s;
- formatting left open: each of 500 paragraphs opens 500 ``<b>`` again, which makes 250,000 elements of 1,000 tags:
  0.23 s and 100 MB, four times as much for twice the tags;
- attributes of one element: 5,000 28 ms, 10,000 0.11 s, 20,000 0.76 s; those of every further ``<html>`` and ``<body>``
  are added to the first.

So a page is harmless if it is small, has few tags, and no tag of many attributes. The bounds are upper bounds of what a
parser can make of the bytes: no more elements are open than there are ``<``, whatever is closed.
"""

from __future__ import annotations

import re
from typing import Final

import re2  # type: ignore[import-untyped]

from scoter.parse.vectors import count_byte

_LESS_THAN: Final = ord("<")
LARGEST: Final = 256 * 1024  # bytes; 3 % of pages are larger
MOST_TAGS: Final = 7_700  # 60 million steps through what may be open, at 3 to 5 ns each
_FEW_TAGS: Final = 1_000  # so few that they may all be formatting left open
_MOST_REOPENED: Final = 500_000  # elements that formatting left open may make
_SHORT: Final = 40_000  # bytes in which no more than 13,000 attributes fit
_MOST_ATTRIBUTES: Final = 6_000
_STEADY: Final = 2_500_000_000  # bytes of page times bytes of block: a second if it is all attributes of three bytes

# Formatting elements with attributes: without any, three of a name are opened again at most (HTML standard, 13.2.4.3),
# and of links only one. And the two elements to which a second tag of the name adds its attributes. RE2 needs a quarter
# of the time that re does, and a third of that where the pattern begins with one certain byte: so both cases are spelt.
_NAMES: Final = (
    *("html", "body", "b", "i", "u", "s", "em", "tt", "big", "font", "code", "nobr", "small", "strong", "strike"),
)
_WATCHED = re2.compile(
    "<({})[\\t\\n\\f\\r /]".format(
        "|".join("".join(f"[{letter}{letter.upper()}]" for letter in name) for name in _NAMES)
    ).encode()
)
_PLAIN: Final = 40
_ROOTS: Final = frozenset({b"html", b"body"})
_MOST_ROOTS: Final = 4

# Attributes as the tokenizer reads them (HTML standard, 13.2.5.32 and on).
_VALUE = rb"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >]*+)"
_ATTRIBUTES = re.compile(
    rb"[\t\n\f\r /]*+[^\t\n\f\r />][^\t\n\f\r />=]*+(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+" + _VALUE + rb")?+"
)
# The same up to the end of a block, for RE2, which reads JSON six times as fast as re does. It knows no possessive
# repetition and needs none: names in a row, and then what follows a name, can be read in one way only.
_SPACE = rb"[\t\n\f\r ]"
_ROW = rb"[^\t\n\f\r />][^\t\n\f\r />=]*(?:" + _SPACE + rb"+[^\t\n\f\r />=]+)*" + _SPACE + rb"*"
_BARE = rb"[^\t\n\f\r >\"'][^\t\n\f\r >]*"
_BYTES = re2.Options()
_BYTES.encoding = re2.Options.Encoding.LATIN1  # else [^x] means a character of UTF-8, which a page need not be
_TO_THE_END = re2.compile(
    rb"(?:[\t\n\f\r /]*" + _ROW + rb"(?:=" + _SPACE + rb"*(?:\"[^\"]*\"|'[^']*'|" + _BARE + _SPACE + rb")|/))*"
    rb"[\t\n\f\r /]*(?:" + _ROW + rb"(?:=" + _SPACE + rb"*(?:\"[^\"]*|'[^']*|" + _BARE + rb")?)?)?",
    _BYTES,
)
_UNQUOTED = re.compile(rb"[^\t\n\f\r >]*+")
_BEFORE_VALUE = re.compile(rb"[\t\n\f\r ]*+" + _VALUE)


# A comment within a text, or one that frameworks leave there. What has markup or quotes in it is left to the parser.
_COMMENT = rb"!--(?:[ \[\]]?-->|[^<>\"']*-->(?:<!--[^<>\"']*-->)*([\t\n\f\r ]*[^<\t\n\f\r ]))"
_HAS_COMMENT = re2.compile(_COMMENT, _BYTES)  # begins with what is rare, which RE2 finds fast
_WHOLE_COMMENT = re2.compile(b"<" + _COMMENT, _BYTES)


def without_comments(markup: bytes) -> bytes:
    """Return markup as it is parsed: without the comments that frameworks and writers leave between pieces of one text.

    >>> without_comments(b"Page <!-- the number -->3")
    b'Page 3'
    """
    if not _HAS_COMMENT.search(markup):
        return markup
    found: bytes = _WHOLE_COMMENT.sub(rb"\1", markup)
    return found


def harmless(body: bytes) -> bool:
    """Tell whether a page cannot take more than about a second and 200 MB.

    >>> harmless(b"<p>words</p>" * 100), harmless(b"<div>" * 100_000)
    (True, False)
    """
    size = len(body)
    if size > LARGEST:
        return False
    tags = count_byte(body, _LESS_THAN)
    if tags > MOST_TAGS:
        return False
    # UTF-16 and ISO-2022-JP, in which the bytes of markup may mean something else.
    if b"\0" in body or b"\x1b" in body:
        return False
    if size <= _SHORT and tags <= _FEW_TAGS:
        return True
    body = without_comments(body)  # without which <<!-- -->b x> is <b x>
    watched = _WATCHED.findall(body)
    if tags > _FEW_TAGS and (len(watched) + _PLAIN) * tags > _MOST_REOPENED:
        return False
    if size <= _SHORT:
        return True
    return sum(name.lower() in _ROOTS for name in watched) <= _MOST_ROOTS and _few_attributes(body, size)


def _few_attributes(body: bytes, size: int) -> bool:
    """Tell whether no tag can have very many attributes.

    A tag that is longer than two blocks has a block to itself. Wherever the tokenizer was when that block began, the
    attributes go on from one of the places; and where a tag ends in the block from all of them, there is no long tag.
    """
    width = _STEADY // size
    most = 0
    for start in range(0, size - width, width):
        block = body[start : start + width]
        inside = [place for place in _places(block) if _TO_THE_END.fullmatch(block[place:])]
        if inside:
            most += max(len(_ATTRIBUTES.findall(block, place)) for place in inside)
            if most > _MOST_ATTRIBUTES:
                return False
    return True


def _places(block: bytes) -> set[int]:
    """Return where attributes may go on in a block that begins in the middle of a tag: between two attributes, in a
    value in double or single quotes, in one without quotes, or before one; a block that is all value has no such place.
    """
    places = {0, _end(_UNQUOTED, block), _end(_BEFORE_VALUE, block)}
    places |= {quote + 1 for quote in (block.find(b'"'), block.find(b"'")) if quote >= 0}
    return places


def _end(pattern: re.Pattern[bytes], block: bytes) -> int:
    found = pattern.match(block)
    return 0 if found is None else found.end()
