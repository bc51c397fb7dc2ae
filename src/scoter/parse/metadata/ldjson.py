"""JSON-LD in scripts, mended where it is broken in one of the ways that templates break it."""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

import msgspec

from scoter.parse.metadata.graph import Graph
from scoter.parse.metadata.page_elements import PageElements

MOST_CHARACTERS: Final = 1_000_000
"""Characters of JSON-LD that are read of a page."""
MOST_MENDED: Final = 256 * 1024
"""Characters of a broken script that are mended; longer ones are left alone."""
MOST_DOCUMENTS: Final = 20

# A string ends at its quote or with the text: a match there keeps the search linear.
_STRING: Final = r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)'
_OUTSIDE: Final = re.compile(_STRING + r"|/\*.*?(?:\*/|\Z)|//[^\n]*|<!--|-->|<!\[CDATA\[|\]\]>", re.DOTALL)
_COMMAS: Final = re.compile(_STRING + r"|,[\s,;]*+", re.DOTALL)
# Right escapes are read over: the second half of a pair of backslashes begins no other.
_ESCAPE: Final = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
_PREFIXED: Final = re.compile(r'"(?:schema:|https?://schema\.org/)(?:name|headline|description|url|image)"')
_BETWEEN: Final = re.compile(r"[\s,;]*")
_DECODER: Final = json.JSONDecoder(strict=False)  # raw line ends and tabs in strings are common


def graph(elements: PageElements) -> Graph:
    """Return the things that the page's JSON-LD describes."""
    found = Graph()
    left = MOST_CHARACTERS
    for script in elements.scripts:
        if len(script) > left:
            continue
        left -= len(script)
        for document in decoded(script):
            found.add(document)
    return found


def decoded(script: str) -> list[Any]:
    """Return the JSON documents of a script: one if all is well, more or none if not.

    >>> decoded('{"name": "Seals",}')
    [{'name': 'Seals'}]
    >>> decoded("no JSON")
    []
    """
    if not script or script.isspace():
        return []
    try:
        found = [msgspec.json.decode(script)]
    except (ValueError, RecursionError):
        found = _mended(script) if len(script) <= MOST_MENDED else []
    return [_unprefixed(document) for document in found] if _PREFIXED.search(script) else found


def _mended(script: str) -> list[Any]:
    text = script.strip().lstrip("\ufeff")
    if "&quot;" in text and '"' not in text.replace('="', ""):
        text = html.unescape(text)
    text = _COMMAS.sub(_kept, _OUTSIDE.sub(_kept, text))
    found: list[Any] = []
    place = 0
    try:
        while len(found) < MOST_DOCUMENTS:
            between = _BETWEEN.match(text, place)
            place = place if between is None else between.end()
            if place >= len(text):
                break
            document, place = _DECODER.raw_decode(text, place)
            found.append(document)
    except (ValueError, RecursionError):
        pass
    return found


def _kept(piece: re.Match[str]) -> str:
    """Return a string, with its wrong escapes mended, and nothing for what does not belong into JSON."""
    text = piece[0]
    if text[0] == ",":
        return "," if piece.string[piece.end() : piece.end() + 1] not in ("", "}", "]") else ""
    if text[0] != '"':
        return ""
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text


def _unprefixed(document: Any, depth: int = 0) -> Any:
    """Write ``schema:name`` and ``http://schema.org/name`` as ``name``."""
    if depth > 30:
        return None
    if isinstance(document, list):
        return [_unprefixed(member, depth + 1) for member in document]
    if not isinstance(document, dict):
        return document
    return {
        _short(key) if ":" in key else key: _unprefixed(value, depth + 1) if isinstance(value, dict | list) else value
        for key, value in document.items()
    }


def _short(name: str) -> str:
    for prefix in ("schema:", "http://schema.org/", "https://schema.org/"):
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name
