"""JSON-LD in scripts, with the usual mistakes of templates repaired."""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

import msgspec

from scoter.parse.metadata.graph import Graph
from scoter.parse.metadata.page_elements import PageElements

MOST_CHARACTERS: Final = 1_000_000
"""Characters of JSON-LD read from a page."""
MOST_REPAIRED: Final = 256 * 1024
"""Characters of a broken script; longer ones are not repaired."""
MOST_DOCUMENTS: Final = 20

# A string ends at its quote or at the end of the text, which keeps the search linear.
_STRING: Final = r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)'
# A comment may also wrap the document. Without < inside, the search for its end is linear.
_COMMENTS: Final = r"/\*.*?(?:\*/|\Z)|//[^\n]*|<!--[^<{\[]*?-->"
_OUTSIDE: Final = re.compile(f"{_STRING}|{_COMMENTS}|<!--|-->|<!\\[CDATA\\[|\\]\\]>", re.DOTALL)
_COMMAS: Final = re.compile(_STRING + r"|,[\s,;]*+", re.DOTALL)
# Valid escapes are matched too, so that the second of two backslashes does not begin another.
_ESCAPE: Final = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
_PREFIXED: Final = re.compile(r'"(?:schema:|https?://schema\.org/)(?:name|headline|description|url|image)"')
_PREFIX: Final = re.compile(r"^(?:schema:|https?://schema\.org/)")
_BETWEEN: Final = re.compile(r"[\s,;]*")
_DECODER: Final = json.JSONDecoder(strict=False)  # raw line breaks and tabs in strings are common


def graph(elements: PageElements) -> Graph:
    """Return the things in the JSON-LD of a page."""
    found = Graph()
    left = MOST_CHARACTERS
    for script in elements.scripts:
        if len(script) > left:
            continue
        left -= len(script)
        for document in parse_documents(script):
            found.add(document)
    return found


def parse_documents(script: str) -> list[Any]:
    """Return the JSON documents of a script; more than one, or none, if it is broken.

    >>> parse_documents('{"name": "Seals",}')
    [{'name': 'Seals'}]
    >>> parse_documents("no JSON")
    []
    """
    if not script or script.isspace():
        return []
    try:
        found = [msgspec.json.decode(script)]
    except (ValueError, RecursionError):
        found = _repair(script) if len(script) <= MOST_REPAIRED else []
    return [_unprefixed(document) for document in found] if _PREFIXED.search(script) else found


def _repair(script: str) -> list[Any]:
    text = script.strip().lstrip("\ufeff")
    if "&quot;" in text and '"' not in text.replace('="', ""):
        text = html.unescape(text)
    text = _COMMAS.sub(_repair_token, _OUTSIDE.sub(_repair_token, text))
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


def _repair_token(piece: re.Match[str]) -> str:
    """Repair the escapes of a string; drop comments and superfluous commas."""
    text = piece[0]
    if text[0] == ",":
        return "," if piece.string[piece.end() : piece.end() + 1] not in ("", "}", "]") else ""
    if text[0] != '"':
        return ""
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text


def _unprefixed(document: Any, depth: int = 0) -> Any:
    """Replace ``schema:name`` and ``http://schema.org/name`` by ``name``."""
    if depth > 30:
        return None
    if isinstance(document, list):
        return [_unprefixed(member, depth + 1) for member in document]
    if not isinstance(document, dict):
        return document
    return {
        _PREFIX.sub("", key): _unprefixed(value, depth + 1) if isinstance(value, dict | list) else value
        for key, value in document.items()
    }
