"""Keys of titles and headings, for queries that are one: the stems of its words, as a checksum.

A heading counts without its number, its parameters, and words such as *class* before a name; a title also without what
follows a dash, which is often the name of the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from zlib import crc32

from scoter.index.languages import analyzer

HEADING: Final = "heading"
"""The field."""
MOST_KEYS: Final = 500
_LONGEST: Final = 100
_NUMBER: Final = re.compile(r"(?:(?:chapter|section|appendix)\s+)?(?:\d+|[A-Z](?=\.))(?:\.\d+)*\.?\s+", re.IGNORECASE)
_KINDS: Final = re.compile(
    r"(?:(?:class|struct|enum|trait|macro|module|function|exception|static|abstract|async|classmethod|const|final|fn|pub"
    r"|type|unsafe)\s+)+"
)
_SITE: Final = re.compile(r"\s[–—|·-]\s|\s::\s")
_PARAMETERS: Final = re.compile(r"(?<=\w)\s?[(\[<].*")


def key_of(text: str, code: str) -> str:
    """Return the key of a text in a language; empty if it has no words."""
    terms = analyzer(code).analyze(text[:_LONGEST])
    return f"{crc32(' '.join(terms).encode()):08x}" if terms else ""


def heading_keys(title: str, headings: Iterable[str], code: str) -> str:
    """Return the keys of a page's title and headings, separated by spaces."""
    texts = dict.fromkeys((title, _SITE.split(title, maxsplit=1)[0], *headings))
    keys: dict[str, None] = {}
    for text in texts:
        plain = text[:_LONGEST]
        number = _NUMBER.match(plain)
        name = plain[number.end() :] if number else plain
        kind = _KINDS.match(name)
        name = _PARAMETERS.sub("", name[kind.end() :] if kind else name)
        keys[key_of(name, code)] = None
        if len(keys) >= MOST_KEYS:
            break
    return " ".join(filter(None, keys))
