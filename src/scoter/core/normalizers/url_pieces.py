"""The pieces of a URL, and the normalisers that change them without rule files: basic, querystring and ajax."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.url import canonical
from scoter.errors import UrlError

# Each part ends at the first character that the next may start with, so matching never backtracks.
_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#\\]*)([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_PORT = re.compile(":[0-9]*")
_SLASHES = re.compile("/{2,}")

# Names that are used for nothing else; "sid" and the like may also name an article, so their value must look random.
_SESSION_NAMES = "jsessionid|phpsessid|aspsessionid[a-z]*|(?:php|asp|bv_)?_?session_?id|cfid|cftoken"
_SESSION = rf"(?:(?:{_SESSION_NAMES})=[^&;/?#]*|_?[jls]?sid=[0-9a-z_-]{{16,}}(?=[&;/?#]|\Z))"
_SESSION_IN_PATH = re.compile(f";{_SESSION}", re.IGNORECASE)
_SESSION_IN_QUERY = re.compile(f"(?<=[?&;]){_SESSION}(?:[&;]|\\Z)", re.IGNORECASE)

_FRAGMENT_PARAMETER = "_escaped_fragment_="
_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")
# Characters that are not printable, would end the parameter, or would be read as an escape.
_UNSAFE = re.compile(rb"[^!-~]|[#%&+]")


class UrlPieces(Struct, frozen=True):
    """The pieces of a URL with their delimiters: joined together they are the original text.

    >>> split_url("http://me@a.example:81/b?c#d")
    UrlPieces(scheme='http', user='me@', host='a.example', port=':81', path='/b', query='?c', fragment='#d')
    """

    scheme: str
    user: str
    host: str
    port: str
    path: str
    query: str
    fragment: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.user}{self.host}{self.port}{self.path}{self.query}{self.fragment}"

    @property
    def name(self) -> str:
        """The host as rule files name it."""
        return self.host.lower().removesuffix(".")


def split_url(text: str) -> UrlPieces | None:
    """Split a URL, or return ``None`` for text that is not an absolute URL with a host."""
    found = _PARTS.fullmatch(text)
    if found is None:
        return None
    scheme, authority, path, query, fragment = found.groups(default="")
    user, at, place = authority.rpartition("@")
    host, port = place, ""
    colon = place.rfind(":")
    if colon >= 0 and _PORT.fullmatch(place, colon):
        host, port = place[:colon], place[colon:]
    return UrlPieces(scheme, user + at, host, port, path, query, fragment)


def canonical_text(text: str, *, trim_trailing_dot: bool = False, session_ids: bool = True) -> str | None:
    """Return the canonical form of a URL, or ``None`` for text that is not a URL (normaliser *basic*).

    Repeated slashes in the path become one, as in Nutch: servers ignore them, and relative links multiply them. Without
    ``session_ids``, these are removed.

    >>> canonical_text("HTTP://Example.org.:80/a/..//b#c"), canonical_text("http://a.example./", trim_trailing_dot=True)
    ('http://example.org./b', 'http://a.example/')
    """
    try:
        found = canonical(text).text
    except UrlError:
        return None
    if found.find("//", 8) > 0 and found.startswith("http"):
        path, question, query = found.partition("?")
        found = f"{path[:8]}{_SLASHES.sub('/', path[8:])}{question}{query}"
    if not session_ids and "=" in found:
        found = strip_session(found)
    pieces = split_url(found) if trim_trailing_dot else None
    if pieces is None or not pieces.host.endswith("."):
        return found
    host = pieces.host.rstrip(".")
    # Parse again: without its dot a host may turn out to be an IP address. Without a host, the path would become one.
    return canonical_text(str(replace(pieces, host=host)), session_ids=session_ids) if host else None


def strip_session(text: str) -> str:
    """Remove session identifiers: each visit would find the same pages under new URLs.

    >>> strip_session("http://a.example/b;jsessionid=01AF?c=1&PHPSESSID=2"), strip_session("http://a.example/?sid=17")
    ('http://a.example/b?c=1', 'http://a.example/?sid=17')
    """
    path, question, query = text.partition("?")
    if ";" in path:
        path = _SESSION_IN_PATH.sub("", path)
    if query:
        kept = _SESSION_IN_QUERY.sub("", f"?{query}")
        query = kept[1:] if kept == f"?{query}" else kept[1:].rstrip("&;")
    return f"{path}?{query}" if query or (question and text.endswith("?")) else path


def sort_query(text: str) -> str:
    """Sort the parameters of the query: ``?a=1&b=2`` and ``?b=2&a=1`` are mostly one page (normaliser *querystring*).

    >>> sort_query("http://a.example/?b=2&a=1#top")
    'http://a.example/?a=1&b=2#top'
    """
    address, mark, fragment = text.partition("#")
    path, question, query = address.partition("?")
    if "&" not in query:
        return text
    return f"{path}{question}{'&'.join(sorted(query.split('&')))}{mark}{fragment}"


def escape_fragment(text: str) -> str:
    """Turn ``#!state`` into the query parameter that crawlers once requested instead (normaliser *ajax*).

    A fragment never reaches a server; sites that kept their pages behind ``#!`` answered to ``_escaped_fragment_``.
    *ajax* must run before *basic*, which drops fragments.

    >>> escape_fragment("http://a.example/?q#!x&y")
    'http://a.example/?q&_escaped_fragment_=x%26y'
    """
    address, mark, state = text.partition("#!")
    if not mark or "#" in address:
        return text
    quoted = _UNSAFE.sub(lambda found: b"%%%02X" % found[0][0], state.encode("utf-8", "replace")).decode("ascii")
    return f"{address}{'&' if '?' in address else '?'}{_FRAGMENT_PARAMETER}{quoted}"


def restore_fragment(text: str) -> str:
    """Turn the parameter back into ``#!state``, for the index.

    >>> restore_fragment("http://a.example/?q&_escaped_fragment_=x%26y")
    'http://a.example/?q#!x&y'
    """
    pieces = split_url(text)
    if pieces is None or _FRAGMENT_PARAMETER not in pieces.query:
        return text
    parameters = pieces.query[1:].split("&")
    states = [each for each in parameters if each.startswith(_FRAGMENT_PARAMETER)]
    if not states:
        return text
    query = "&".join(each for each in parameters if not each.startswith(_FRAGMENT_PARAMETER))
    state = _ESCAPES.sub(_unquoted, states[0].removeprefix(_FRAGMENT_PARAMETER))
    return f"{text.partition('?')[0]}{'?' + query if query else ''}#!{state}"


def _unquoted(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace")
