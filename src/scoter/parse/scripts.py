"""JavaScript and style sheets: the addresses in them; they have no text that anybody reads.

Nothing here understands the languages. One pass of a pattern that cannot go back finds what looks like an address; its
time is linear in the length of the file, whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 2_048
"""Characters of an address."""

# A comment ends before anything in it is looked at, and a string ends at its quote. Possessive, so as never to go back.
_CSS: Final = re.compile(
    r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?"
    r"|@import\s++(?:\"((?:[^\"\\\n]|\\.)*+)\"|'((?:[^'\\\n]|\\.)*+)')"
    r"|\burl\(\s*+(?:\"((?:[^\"\\\n]|\\.)*+)\"|'((?:[^'\\\n]|\\.)*+)'|((?:[^\s\"'()\\]|\\(?:[0-9a-fA-F]{1,6}+\s?+|.))++))"
    r"|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?",
    re.IGNORECASE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|\n|(.))", re.DOTALL)
# A string without an escape but \/ and \u002F, which programs write for the slash.
_STRING: Final = re.compile(r"[\"'`]((?:[^\"'`\s<>\\{}|^]|\\/|\\u002[fF]){2,2048}+)(?=[\"'`])")
_HOST: Final = re.compile(r"(?:https?:)?//[^/?#\s]*[a-z0-9][.:\]][^\s]*|https?://localhost", re.IGNORECASE)
_PATH: Final = re.compile(r"(?:\.{0,2}/)[\w.~%@+-]+(?:/[\w.~%@+:,;=-]*)*(?:[?#].*)?", re.ASCII)
_FILE: Final = re.compile(r"(?:[\w~%@+-]+/)*[\w.~%@+-]+\.(?:html?|xhtml|php|aspx?|jsp|json|xml)(?:[?#].*)?", re.ASCII)


def script_addresses(text: str) -> Iterator[str]:
    """Yield what looks like an address in the strings of a script.

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
    """Return what an escape of CSS stands for (CSS Syntax 3, 4.3.7)."""
    code, character = found.groups()
    if code is None:
        return character or ""
    number = int(code, 16)
    return chr(number) if 0 < number < 0xD800 or 0xDFFF < number < 0x110000 else "\ufffd"
