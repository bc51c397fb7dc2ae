"""Secrets in texts: user names and passwords in URLs, and values whose names sound secret.

Whatever is printed, logged, recorded or sent to a reader goes through these functions first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"
_USERINFO = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?#@\"'<>\\]+@")
_NAMES = re.compile(
    r"(?i)passw|secret|token|api[-_.]?key|access[-_.]?key|private[-_.]?key|authori[sz]ation|credential|cookie"
)
_NAMED = re.compile(r"\s*([^\s:=]+)\s*([:=])")
_HEADERS = "http.headers"


def sounds_secret(name: str) -> bool:
    """Return whether the value of something with this name should not be shown.

    >>> sounds_secret("X-Api-Key"), sounds_secret("fetch.delay")
    (True, False)
    """
    return _NAMES.search(name) is not None


def without_userinfo(text: str) -> str:
    """Return a text with the user names and passwords of URLs masked.

    >>> without_userinfo("cannot read s3://me:pw@bucket/x and http://a.example/?q=b@c")
    'cannot read s3://***@bucket/x and http://a.example/?q=b@c'
    """
    return _USERINFO.sub(rf"\1{MASK}@", text) if "@" in text else text


def masked(name: str, value: Any) -> Any:
    """Return the value of a setting or option as it may be shown; lists and objects are masked entry by entry.

    >>> masked("http.headers", ["X-Team: 7"]), masked("engine.spark_conf", ["spark.x.token=1", "spark.y=2"])
    (['X-Team: ***'], ['spark.x.token=***', 'spark.y=2'])
    >>> masked("seeds", ["http://me:pw@a.example/"]), masked("ftp.password", "pw")
    (['http://***@a.example/'], '***')
    """
    match value:
        case list() | tuple():
            return [masked(name, each) for each in value]
        case Mapping():
            return {key: masked(str(key), each) for key, each in value.items()}
        case str() if sounds_secret(name):
            return MASK if value else value
        case str():
            return _masked_text(name, value)
        case _:
            return value


def has_secret(name: str, value: Any) -> bool:
    """Return whether a value would be shown only in part; of request headers, those whose names sound secret count."""
    texts = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(text, str) and _masked_text("", text) != text for text in texts)


def _masked_text(name: str, text: str) -> str:
    named = _NAMED.match(text)
    # Any header may hold a token; what it is called says little.
    if named is not None and "://" not in named[0] and (name == _HEADERS or sounds_secret(named[1])):
        return f"{named[0].strip()}{' ' if named[2] == ':' else ''}{MASK}"
    return without_userinfo(text)
