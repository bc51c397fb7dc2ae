"""Recognise pages that are sure to parse quickly, without parsing them.

Lexbor cannot be interrupted, and some pages of a few hundred kilobytes keep it busy for minutes. These inputs take
quadratic time in selectolax 1.0.2 (Lexbor alone, on one core):

- nesting: 5,000 nested ``<div>`` take 36 ms, 20,000 take 0.9 s. Each end tag without a start tag searches all open
  elements: 20,000 ``</p>`` in 5,000 ``<div>`` take 0.3 s;
- unclosed formatting: each of 500 paragraphs reopens 500 ``<b>``, so that 1,000 tags become 250,000 elements, which
  take 0.23 s and 100 MB; twice the tags take four times as much;
- attributes of one element: 5,000 take 28 ms, 10,000 0.11 s, 20,000 0.76 s. The attributes of further ``<html>`` and
  ``<body>`` tags are added to the first one.

So a page is harmless if it is small, has few tags, and no tag with many attributes. The limits are upper bounds for any
interpretation of the bytes: there are never more open elements than ``<``.

Of a page with very many open elements only the part before them is read. This makes most pages that were made to hang
parsers harmless.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Final

import re2  # type: ignore[import-untyped]

from scoter.native import native_module
from scoter.parse.byte_search import count_byte

_native: Final = native_module("scoter.parse._prescan")
find_watched: Callable[[bytes, int], list[bytes]] | None = getattr(_native, "watched", None)
"""The same as ``_watched_in_python``, in C, if Scoter was built with a compiler; it takes a fifth of the time."""
ends_tag: Callable[[bytes, int], bool] | None = getattr(_native, "ends", None)
"""The same as ``_ends_in_python``, in C."""

_LESS_THAN: Final = ord("<")
LARGEST: Final = 256 * 1024  # bytes; 3 % of pages are larger
MOST_TAGS: Final = 7_700  # 60 million steps through open elements at 3 to 5 ns each
_FEW_TAGS: Final = 1_000  # so few that all may be unclosed formatting
_MOST_REOPENED: Final = 500_000  # elements that unclosed formatting may create
_SHORT: Final = 40_000  # bytes, which hold at most 13,000 attributes
_MOST_ATTRIBUTES: Final = 6_000
_STEADY: Final = 2_500_000_000  # bytes of page times bytes of block: a second if it is all attributes of three bytes

DEEPEST: Final = 2_000  # open elements; browsers stop nesting at about 512
_MOST_COUNTED: Final = 50_000  # tags, which take 30 ms; few pages have more
_TAG: Final = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9:-]*+)[^<>]*+")
_SLASH: Final = ord("/")
# Elements that are never open, or whose next start tag closes them. They nest only within others, which are counted.
_NOT_NESTED: Final = frozenset(
    (
        *(b"area", b"base", b"br", b"col", b"embed", b"hr", b"img", b"input", b"link", b"meta", b"param", b"source"),
        *(b"track", b"wbr", b"html", b"head", b"body", b"p", b"li", b"dt", b"dd", b"option", b"optgroup", b"rp"),
        *(b"rt", b"tr", b"td", b"th", b"tbody", b"thead", b"tfoot", b"colgroup", b"caption", b"a", b"button", b"nobr"),
    )
)

# Formatting elements with attributes: of those without, at most three of a name are reopened (HTML standard, 13.2.4.3),
# and of links only one. Also the two elements to which further tags add their attributes. RE2 takes a quarter of re's
# time, and a third of that if the pattern begins with a fixed byte; so both cases are spelled out.
_NAMES: Final = (
    *("html", "body", "b", "i", "u", "s", "em", "tt", "big", "font", "code", "nobr", "small", "strong", "strike"),
)
_WATCHED_NAME: Final = "|".join("".join(f"[{letter}{letter.upper()}]" for letter in name) for name in _NAMES).encode()
_WATCHED = re2.compile(rb"<(" + _WATCHED_NAME + rb")[\t\n\f\r /]")
_FEW_WATCHED: Final = 32  # more are found faster by re, because each match of RE2 takes 2 µs
# Most of these elements are closed at once: they contain only text and a few elements that are closed likewise. Nothing
# reopens those. This holds wherever the tokenizer is: if it takes the first byte for the start of a tag, it must take
# all of this as tags and text; otherwise that tag opens nothing. The last group is empty if an element is closed so.
_CLOSED: Final = rb"(?:[\t\n\f\r ]++[a-zA-Z-]++=\"[^\"<>]*+\")*+[\t\n\f\r ]*+>[^<]*+"
_INNER: Final = rb"<(span|code|em|strong|b|i|u|s|tt|big|small)" + _CLOSED
_OPENED: Final = re.compile(
    rb"<(" + _WATCHED_NAME + rb")(?:(?=[\t\n\f\r ])" + _CLOSED
    + rb"(?:" + _INNER + rb"(?:" + _INNER + rb"</\3>[^<]*+)*+</\2>[^<]*+)*+</\1>|[\t\n\f\r /](?=([\s\S])))"
)  # fmt: skip
_PLAIN: Final = 40
_ROOTS: Final = frozenset({b"html", b"body"})
_MOST_ROOTS: Final = 4

# Attributes as the tokenizer reads them (HTML standard, 13.2.5.32 ff.), without the spaces before a name: a search
# would rescan a long run of spaces from each of them.
_VALUE = rb"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >]*+)"
_ATTRIBUTE = rb"[^\t\n\f\r />][^\t\n\f\r />=]*+(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+" + _VALUE + rb")?+"
_ATTRIBUTES = re.compile(_ATTRIBUTE)
# Most tags end soon, which re finds faster than RE2: a call takes a third of the time.
_END = re.compile(rb"[\t\n\f\r /]*+(?:" + _ATTRIBUTE + rb"[\t\n\f\r /]*+)*+>")
_SOON: Final = 256  # bytes
# The same up to the end of a block, for RE2, which scans JSON six times as fast as re. It has no possessive repetition
# and needs none, since the pattern is unambiguous.
_SPACE = rb"[\t\n\f\r ]"
_ROW = rb"[^\t\n\f\r />][^\t\n\f\r />=]*(?:" + _SPACE + rb"+[^\t\n\f\r />=]+)*" + _SPACE + rb"*"
_BARE = rb"[^\t\n\f\r >\"'][^\t\n\f\r >]*"
_BYTES = re2.Options()
# Otherwise [^x] matches UTF-8 characters, but a page may have another encoding.
_BYTES.encoding = re2.Options.Encoding.LATIN1
_TO_THE_END = re2.compile(
    rb"(?:[\t\n\f\r /]*" + _ROW + rb"(?:=" + _SPACE + rb"*(?:\"[^\"]*\"|'[^']*'|" + _BARE + _SPACE + rb")|/))*"
    rb"[\t\n\f\r /]*(?:" + _ROW + rb"(?:=" + _SPACE + rb"*(?:\"[^\"]*|'[^']*|" + _BARE + rb")?)?)?",
    _BYTES,
)
_UNQUOTED = re.compile(rb"[^\t\n\f\r >]*+")
_BEFORE_VALUE = re.compile(rb"[\t\n\f\r ]*+" + _VALUE)


def is_harmless(body: bytes) -> bool:
    """Tell whether parsing a page is sure to take no more than about a second and 200 MB.

    >>> is_harmless(b"<p>words</p>" * 100), is_harmless(b"<div>" * 100_000)
    (True, False)
    """
    size = len(body)
    if size > LARGEST:
        return False
    tags = count_byte(body, _LESS_THAN)
    if tags > MOST_TAGS:
        return False
    # UTF-16 or ISO-2022-JP, where the bytes of markup may have another meaning.
    if b"\0" in body or b"\x1b" in body:
        return False
    if size <= _SHORT and tags <= _FEW_TAGS:
        return True
    watched = _watched(body)
    if tags > _FEW_TAGS and (len(watched) + _PLAIN) * tags > _MOST_REOPENED:
        return False
    if size <= _SHORT:
        return True
    return sum(name.lower() in _ROOTS for name in watched) <= _MOST_ROOTS and _few_attributes(body, size)


def _watched(body: bytes) -> list[bytes]:
    """Return the names of watched elements; if there are many, without those that are closed at once."""
    return find_watched(body, _FEW_WATCHED) if find_watched else _watched_in_python(body)


def _watched_in_python(body: bytes) -> list[bytes]:
    found = list(itertools.islice(_WATCHED.finditer(body), _FEW_WATCHED))
    if len(found) < _FEW_WATCHED:
        return [each[1] for each in found]
    return [groups[0] for groups in _OPENED.findall(body) if groups[-1]]


def is_partly_harmless(body: bytes) -> bool:
    """Tell whether parsing the shallow part of a page is sure to take no more than about a second.

    >>> is_partly_harmless(b"<title>A</title>" + b"<div>" * 100_000)
    True
    """
    if is_harmless(body):
        return True
    if b"\0" in body or b"\x1b" in body:  # the part may end elsewhere once the page is decoded
        return False
    part = shallow_part(body)
    return part is not body and is_harmless(part)


def shallow_part(markup: bytes) -> bytes:
    """Return the markup up to where more than ``DEEPEST`` elements are open; usually all of it.

    The count is an estimate from the first tags, and may be too low, so this does not replace ``is_harmless``.
    """
    if count_byte(markup, _LESS_THAN) <= MOST_TAGS:
        return markup
    opened: dict[bytes, int] = {}
    depth = 0
    for tag in itertools.islice(_TAG.finditer(markup), _MOST_COUNTED):
        end, name = tag.groups()
        name = name.lower()
        if name in _NOT_NESTED:
            continue
        count = opened.get(name, 0)
        if not end:
            if markup[tag.end() - 1] == _SLASH and opened.get(b"svg"):  # elsewhere <x/> is the same as <x>
                continue
            opened[name] = count + 1
            depth += 1
            if depth > DEEPEST:
                return markup[: tag.start()]
        elif count:
            opened[name] = count - 1
            depth -= 1
    return markup


def _few_attributes(body: bytes, size: int) -> bool:
    """Tell whether no tag can have very many attributes.

    A tag longer than two blocks fills at least one whole block. Whatever the state of the tokenizer at the start of
    that block, its attributes continue at one of ``_places``. If the tag ends within the block from each of them, there
    is no such tag.
    """
    width = _STEADY // size
    most = 0
    for start in range(0, size - width, width):
        block = body[start : start + width]
        ends = ends_tag or _ends_in_python
        inside = [place for place in _places(block) if not ends(block, place)]
        if inside:
            most += max(len(_ATTRIBUTES.findall(block, place)) for place in inside)
            if most > _MOST_ATTRIBUTES:
                return False
    return True


def _ends_in_python(block: bytes, place: int) -> bool:
    """Return whether a tag ends in a block, if its attributes continue at a place of it."""
    soon = _END.match(block, place, place + _SOON)
    return soon is not None or _TO_THE_END.fullmatch(block[place:]) is None


def _places(block: bytes) -> set[int]:
    """Return where attributes may continue in a block that begins inside a tag.

    The block may begin between two attributes, in a value with double, single or no quotes, or before a value. A block
    that is all value has no such place.
    """
    places = {0, _end(_UNQUOTED, block), _end(_BEFORE_VALUE, block)}
    places |= {quote + 1 for quote in (block.find(b'"'), block.find(b"'")) if quote >= 0}
    return places


def _end(pattern: re.Pattern[bytes], block: bytes) -> int:
    found = pattern.match(block)
    return 0 if found is None else found.end()
