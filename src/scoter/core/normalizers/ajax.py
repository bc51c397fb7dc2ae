"""The ajax normaliser: ``#!state`` and the query parameter that crawlers once asked for in its place.

A fragment never reaches a server; sites that kept their pages behind ``#!`` answered to ``_escaped_fragment_``. It
has to stand before *basic* in the chain, which drops fragments. In the scope *indexer* it goes the other way.
"""

from __future__ import annotations

import re

from scoter.core.normalizers.parts import split

PARAMETER = "_escaped_fragment_="
_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")
# What is not printable, and what would end the parameter or be read as an escape.
_UNSAFE = re.compile(rb"[^!-~]|[#%&+]")


def escaped(text: str) -> str:
    """Turn ``#!state`` into the parameter.

    >>> escaped("http://a.example/?q#!x&y")
    'http://a.example/?q&_escaped_fragment_=x%26y'
    """
    address, mark, state = text.partition("#!")
    if not mark or "#" in address:
        return text
    return f"{address}{'&' if '?' in address else '?'}{PARAMETER}{_quoted(state)}"


def restored(text: str) -> str:
    """Turn the parameter back into ``#!state``.

    >>> restored("http://a.example/?q&_escaped_fragment_=x%26y")
    'http://a.example/?q#!x&y'
    """
    parts = split(text)
    if parts is None or PARAMETER not in parts.query:
        return text
    pieces = parts.query[1:].split("&")
    states = [piece for piece in pieces if piece.startswith(PARAMETER)]
    if not states:
        return text
    query = "&".join(piece for piece in pieces if not piece.startswith(PARAMETER))
    state = _ESCAPES.sub(_unquoted, states[0].removeprefix(PARAMETER))
    return f"{text.partition('?')[0]}{'?' + query if query else ''}#!{state}"


def _quoted(text: str) -> str:
    return _UNSAFE.sub(lambda found: b"%%%02X" % found[0][0], text.encode("utf-8", "replace")).decode("ascii")


def _unquoted(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace")
