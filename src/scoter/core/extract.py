"""Find URLs in running text, as people write them.

With the scheme ``http`` or ``https``, nearly everything is a URL; other schemes are ignored. Without a scheme, a name
is a URL if it ends in a known public suffix, unless

- its context says otherwise: ``me@example.com``, ``ftp://example.com``, ``src/main.rs``, ``#a.com``;
- its ending is more common in file names or code (``report.md``, ``main.rs``, ``self.name``);
- it is one letter, a dot and two letters (``a.is``);
- it is the end of one sentence and the start of the next (``the end.It was``).

The last three rules do not apply to a name with a path, a port or a leading ``www.``. An IPv4 address needs a scheme:
without one it is as often a version number.

A URL ends

- at white space, quotes and angle brackets;
- at a closing bracket whose opening bracket is outside, and before an opening bracket that is never closed;
- before the punctuation of the sentence, and before a possessive ``'s``;
- at a comma that another URL follows directly;
- at Chinese, Japanese and Korean letters in a path, and in a host after a known suffix: there are no spaces between
  words (most browsers copy such paths percent-encoded). Letters of other scripts belong to the URL.

Run time is linear in the length of the text, for any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

from scoter.core.domain import is_below_known_suffix, is_known_suffix
from scoter.core.url import canonical
from scoter.errors import UrlError

LONGEST: Final = 8_192
"""Longest URL to return, in characters."""

_HOST_MOST: Final = 253

# Letters of scripts without spaces between words, or whose particles follow a name directly.
_CJK: Final = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u303a\u3041-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
# White space, control characters, quotes, invisible marks, full-width punctuation, emoji: no URL contains them.
_ENDS: Final = (
    '\\s\x00-\x20\x7f-\xa0"<>`\\\\\xab\xbb\u2014\u2018-\u201f\u2026\u2039\u203a\u200b\u200e\u200f\u2028-\u202f\u2060-\u206f'
    "\u2600-\u27bf\u3000-\u3004\u3008-\u3020\u302a-\u3030\u303b-\u3040\ud800-\udfff\ufe00-\ufe4f\ufeff-\uffff"
    "\U0001f000-\U0001ffff"
)
_HTTP: Final = "[hH][tT][tT][pP][sS]?"
# Not a name before "@": anna.it+news@example.com is an e-mail address.
_RUN: Final = r"(?P<name>[^\W_][\w-]*+(?:\.[\w-]++)++)(?!://|[\w.%+&=$~-]{0,64}+@)"
_SYMBOLS: Final = "\u2190-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001ffff"

# A name after one of these signs is part of something else. Possessive quantifiers keep matching linear.
_START = re.compile(rf"(?P<http>{_HTTP}://)|(?<![\w.@/\\=&%#~+$-]){_RUN}")
_NAME = re.compile(_RUN)
_AUTHORITY = re.compile(
    r"(?:[\w.~!$&*+=:%-]{1,256}+@)?+(?P<host>\[[0-9a-fA-F:.]{2,45}\]"
    # Symbols are part of a host before its first dot (http://✪df.ws); later they end it.
    rf"|(?:(?![_-])[{_SYMBOLS}\w-]{{1,63}}+(?=\.\w)|[^\W_][\w-]{{0,252}}+)(?:[\w-]|\.(?=\w)){{0,252}}+)(?!\w)"
)
_WORD = re.compile(r"[^\s<>\"'()\[\]{}]*+")
_GLUED = re.compile(rf"\.?{_HTTP}$")
_PORT = re.compile(r":[0-9]{1,5}(?![0-9])")
_TURN = re.compile(rf"[()\[\]{{}}'?{_ENDS}{_CJK}]|[,;|](?={_HTTP}://)")
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_TRAILING: Final = ".,;:!?'*|\u060c\u061b\u061f\u0964\u2013\u2032\u2033"
_POSSESSIVE = re.compile("(?<=[^/=&?#'])'s", re.IGNORECASE)
_EMPHASIS: Final = "_~"
_INTO_CJK = re.compile(rf"(?<=[^.\-{_CJK}])(?=[{_CJK}])")
_IS_CJK = re.compile(f"[{_CJK}]")

_SCHEME = re.compile(r"(?<![a-zA-Z])[a-zA-Z]++$")
_OTHERS: Final = frozenset({"data", "geo", "javascript", "mailto", "sip", "sips", "skype", "sms", "tel", "urn", "xmpp"})
# Public suffixes that are at least as common as file extensions or in code.
_ENDINGS: Final = frozenset(
    {"app", "cc", "gd", "java", "md", "ml", "mm", "mov", "name", "pl", "pm", "ps", "py", "rs", "sc", "sh", "so", "st"}
    | {"tf", "zip"}
)
_ONE_BEFORE_TWO = re.compile(r"\w\.\w\w")
_ALWAYS: Final = frozenset({"com", "net", "org"})
_LONGEST_TOP: Final = 20  # characters of a top-level domain in Unicode


def urls_in(text: str, *, most: int = 1000) -> list[str]:
    """Return the first ``most`` different URLs of a text, in order; each of them has a canonical form.

    >>> urls_in("See https://en.wikipedia.org/wiki/Duck_(bird), or (example.org/x). Not me@example.org, v1.2, a.txt.")
    ['https://en.wikipedia.org/wiki/Duck_(bird)', 'http://example.org/x']
    """
    found: dict[str, str] = {}
    for url in _candidates(text):
        if len(found) >= most:
            break
        if len(url) > LONGEST:
            continue
        try:
            found.setdefault(canonical(url).text, url)
        except UrlError:
            continue
    return list(found.values())


def _candidates(text: str) -> Iterator[str]:
    at = 0
    while (start := _start(text, at)) is not None:
        first, at = start.span()
        if text[at - 1] == "/":
            end = None if text[first - 1 : first] == "+" else _host_end(text, at)  # git+https and similar
            if end is not None:
                end, at = _extent(text, first, end)
                yield text[first:end]
            elif _AUTHORITY.match(text, at) is None and (word := _WORD.match(text, at)):
                at = word.end()  # no host is cut out of what follows a scheme
            continue
        for begin, stop in _names(text, first, at):
            if _is_site(text, begin, stop):
                end, after = _extent(text, begin, stop)
                at = max(at, after)
                yield "http://" + text[begin:end]


def _start(text: str, at: int) -> re.Match[str] | None:
    # A name may follow a URL directly, as in 见http://a.example和b.example.
    glued = _NAME.match(text, at) if at and _IS_CJK.match(text, at) else None
    return glued or _START.search(text, at)


def _host_end(text: str, at: int) -> int | None:
    """Return where the host ends of the URL whose scheme ends at ``at``."""
    authority = _AUTHORITY.match(text, at)
    if authority is None:
        return None
    start, end = authority.span("host")
    host = text[start:end]
    if text.startswith("://", end) and (glued := _GLUED.search(host)):
        host = host[: glued.start()]
    host = _without_neighbours(host).rstrip("-_")
    return start + len(host) if host else None


def _extent(text: str, first: int, end: int) -> tuple[int, int]:
    """Return where the URL ends whose host ends at ``end``, and where to look for the next one."""
    before = text[first - 1] if first else ""
    if (port := _PORT.match(text, end)) is not None:
        end = port.end()
    if text[end : end + 1] not in ("/", "?", "#"):
        return end, end
    opened: list[int] = []
    has_query = False
    stop = len(text)
    for turn in _TURN.finditer(text, end):
        sign = turn[0]
        if sign in "([{":
            opened.append(turn.start())
        elif sign == "?":
            has_query = True
        elif sign in _PAIRS and opened and text[opened[-1]] == _PAIRS[sign]:
            opened.pop()
        elif not (sign in ",;|" and has_query) and not (sign == "'" and before != "'"):
            stop = turn.start()
            break
    end = opened[0] if opened else stop
    if before == "<" and (bar := text.find("|", first, end)) >= 0:
        end = bar  # Slack's notation: <URL|label>
    trailing = _TRAILING + before if before and before in _EMPHASIS else _TRAILING
    end = first + len(text[first:end].rstrip(trailing))
    return end - 2 if _POSSESSIVE.match(text, end - 2, end) else end, stop


def _names(text: str, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield what may be host names in a run of letters, digits, hyphens and dots; CJK letters separate them."""
    run = text[first:end]
    if run.isascii():
        yield first, first + len(run.rstrip("-_"))
        return
    cuts = [0, *(cut.start() for cut in _INTO_CJK.finditer(run)), len(run)]
    for start, stop in pairwise(cuts):
        name = run[start:stop]
        word, dot, _ = name.partition(".")
        if not dot:
            continue
        letters = list(_IS_CJK.finditer(word))
        if letters and letters[-1].end() < len(word):
            start += letters[-1].end()
        elif letters and start:
            continue  # the end of a word, not a label
        begin = first + start
        name = _without_neighbours(text[begin : first + stop]).rstrip("-_")
        yield begin, begin + len(name)


def _without_neighbours(host: str) -> str:
    """Return a host without the CJK words that follow it directly, as in ``例え.jpを見て``."""
    if host.isascii() or len(host) > _HOST_MOST:
        return host
    labels = host.split(".")
    for at, label in enumerate(labels[1:], 1):
        cut = _INTO_CJK.search(label)
        if cut is not None and _is_top(label[: cut.start()]):
            return ".".join((*labels[:at], label[: cut.start()]))
    last = labels[-1]
    if len(labels) > 1 and not last.isascii() and not _is_top(last):
        for length in range(min(len(last), _LONGEST_TOP), 0, -1):
            if _is_top(last[:length]):
                return ".".join((*labels[:-1], last[:length]))
    return host


def _is_site(text: str, first: int, end: int) -> bool:
    """Return whether a name without a scheme is a URL."""
    name = text[first:end]
    top = name[name.rfind(".") + 1 :]
    if len(name) > _HOST_MOST or not _is_top(top) or not _is_registered(name):
        return False
    if text[first - 1 : first] == ":" and _scheme_before(text, first - 1) in _OTHERS:
        return False
    if text[end : end + 1] == "/" or _PORT.match(text, end) is not None or name[:4].lower() == "www.":
        return True
    if top.istitle() and top.lower() not in _ALWAYS:
        return False
    return top.lower() not in _ENDINGS and not _ONE_BEFORE_TWO.fullmatch(name)


def _scheme_before(text: str, colon: int) -> str:
    found = _SCHEME.search(text[max(0, colon - 12) : colon])
    return found[0].lower() if found else ""


@lru_cache(maxsize=4096)
def _is_registered(name: str) -> bool:
    labels = name.lower().split(".")
    if any("_" in label or label[:1] in ("", "-") or label[-1] == "-" for label in labels):
        return False
    return is_below_known_suffix(".".join(labels))


@lru_cache(maxsize=4096)
def _is_top(label: str) -> bool:
    return is_known_suffix(label.lower())
