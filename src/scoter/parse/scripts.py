"""Find the addresses in JavaScript and style sheets.

The languages are not parsed. One pass of a possessive pattern, which never backtracks, finds what looks like an
address, in time linear in the length of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 2_048
"""Most characters of an address."""

# Comments and other strings are matched too, so that addresses in them are skipped.
_CSS: Final = re.compile(
    r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?"
    r"|@import\s++(?:\"((?:[^\"\\\n]|\\.)*+)\"|'((?:[^'\\\n]|\\.)*+)')"
    r"|\burl\(\s*+(?:\"((?:[^\"\\\n]|\\.)*+)\"|'((?:[^'\\\n]|\\.)*+)'|((?:[^\s\"'()\\]|\\(?:[0-9a-fA-F]{1,6}+\s?+|.))++))"
    r"|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?",
    re.IGNORECASE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|\n|(.))", re.DOTALL)
# A string without escapes, except \/ and \u002F, which generators write for a slash.
_STRING: Final = re.compile(r"[\"'`]((?:[^\"'`\s<>\\{}|^]|\\/|\\u002[fF]){2,2048}+)(?=[\"'`])")
_HOST: Final = re.compile(r"(?:https?:)?//[^/?#\s]*[a-z0-9][.:\]][^\s]*|https?://localhost", re.IGNORECASE)
_PATH: Final = re.compile(r"(?:\.{0,2}/)[\w.~%@+-]+(?:/[\w.~%@+:,;=-]*)*(?:[?#].*)?", re.ASCII)
_FILE: Final = re.compile(r"(?:[\w~%@+-]+/)*[\w.~%@+-]+\.(?:html?|xhtml|php|aspx?|jsp|json|xml)(?:[?#].*)?", re.ASCII)


def script_addresses(text: str) -> Iterator[str]:
    """Yield the strings of a script that look like an address.

    >>> list(script_addresses('go("https://a.example/x"); load("/img/a.png"); re("/"); say("and/or")'))
    ['https://a.example/x', '/img/a.png']
    """
    for found in _STRING.finditer(text):
        address = found[1]
        if "\\" in address:
            address = address.replace("\\/", "/").replace("\\u002f", "/").replace("\\u002F", "/")
        if _HOST.match(address) or _PATH.fullmatch(address) or _FILE.fullmatch(address):
            yield address


def css_addresses(text: str) -> Iterator[str]:
    """Yield the addresses of ``url()`` and ``@import``.

    >>> list(css_addresses("@import 'a.css'; b { background: url( x.png ) } /* url(no) */"))
    ['a.css', 'x.png']
    """
    for found in _CSS.finditer(text):
        if found.lastindex is not None:
            address = found[found.lastindex].strip()
            address = _ESCAPE.sub(_unescaped, address) if "\\" in address else address
            if address and len(address) <= LONGEST and not address.startswith("#"):
                yield address


def _unescaped(found: re.Match[str]) -> str:
    """Decode an escape (CSS Syntax 3, 4.3.7)."""
    code, character = found.groups()
    if code is None:
        return character or ""
    number = int(code, 16)
    return chr(number) if 0 < number < 0xD800 or 0xDFFF < number < 0x110000 else "\ufffd"
