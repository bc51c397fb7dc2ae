"""URLs: parsed once, by the WHATWG rules, into one canonical form.

The canonical form is the WHATWG serialisation (lower-case scheme and host, punycode, dotted IPv4, no
default port, dot segments resolved, no empty path) and, beyond it:

- no fragment: it never reaches a server;
- no user name or password: credentials belong to the configuration, not to a link found on a page;
- percent-encoding in one spelling (RFC 3986 6.2.2): ``%2f`` becomes ``%2F``, ``%41`` becomes ``A``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import ada_url
from msgspec import Struct

from scoter.core.domain import registered_domain, reversed_host
from scoter.errors import UrlError

__all__ = ["Url", "canonical", "host_of", "join", "queue_key", "stored_url", "typed_url"]

ORIGIN_CACHE: Final = 4_096
JOIN_CACHE: Final = 4_096  # about 2 MB when full of ordinary links, 10 at the very most

# Not after a stray percent sign: decoding would create a new escape.
_ESCAPE: Final = re.compile("(?<!%)(?<!%[0-9a-fA-F])%[0-9a-fA-F]{2}")
# An escape that is not canonical: a lower-case digit, or an unreserved character.
_UNTIDY: Final = re.compile(
    "%(?:[0-9A-Fa-f][a-f]|[a-f][0-9A-F]|2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])"
)
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# Paths and queries that the parser does not change, as in most links.
_NAME: Final = "[A-Za-z0-9_~-][A-Za-z0-9._~-]*"
_PLAIN: Final = rf"/(?:{_NAME}/)*(?:{_NAME})?(?:\?[A-Za-z0-9._~=&-]*)?"
_PLAIN_TARGET: Final = re.compile(_PLAIN)
_PLAIN_URL: Final = re.compile(f"(https?://[a-z0-9.-]+(?::[0-9]+)?)({_PLAIN})")
# An origin that the parser does not change unless it has punycode: its last label is not a number.
_PLAIN_ORIGIN: Final = re.compile(r"https?://(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*")
# A host name with a dot or an IPv4 address, with nothing that could be another scheme before it.
_BARE: Final = re.compile(r"\s*[^\s/?#:@\\\[\]]+\.[^\s/?#:@\\\[\]]+(?::[0-9]{1,5})?(?:[/?#]|\s*\Z)")
_AUTHORITY_END: Final = re.compile("[/?]")  # of a canonical URL
_CACHED: Final = 512  # characters; a data: URL may be megabytes long and must not fill the cache


class Url(Struct, frozen=True, gc=False):
    """A URL in canonical form, with its host and sort key.

    >>> Url("http://example.com/b", "com,example)/b", "example.com")
    Url('http://example.com/b')
    """

    text: str
    key: str
    host: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Url({self.text!r})"

    @property
    def scheme(self) -> str:
        return self.text[: self.text.index(":")]

    @property
    def port(self) -> int | None:
        """The port, or ``None`` for the default port of the scheme."""
        end = self._host_end()
        return int(self.text[end + 1 : self._authority_end(end)]) if self.text[end : end + 1] == ":" else None

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """What follows the question mark, without it."""
        return self.target.partition("?")[2]

    @property
    def target(self) -> str:
        """Path and query, as in a request line."""
        return self.text[self._authority_end(self._host_end()) :] or "/"

    @property
    def domain(self) -> str:
        """The registered domain, or the host itself if it has none (an IP address, a bare name)."""
        return registered_domain(self.host)

    @property
    def depth(self) -> int:
        """The number of path segments: 0 for a site's root."""
        return sum(1 for segment in self.path.split("/") if segment)

    def _host_end(self) -> int:
        # A canonical URL has no user name: the host follows directly.
        return self.text.index("://") + 3 + len(self.host)

    def _authority_end(self, host_end: int) -> int:
        if self.text[host_end : host_end + 1] != ":":
            return host_end
        end = _AUTHORITY_END.search(self.text, host_end)
        return end.start() if end else len(self.text)


def canonical(text: str) -> Url:
    """Return the canonical form of a URL.

    >>> str(canonical("HTTP://Example.COM:80/a/../b#top"))
    'http://example.com/b'
    >>> canonical("HTTP://Example.COM:80/a/../b").key
    'com,example)/b'
    """
    found = _absolute(text) if len(text) <= _CACHED else _parse(text)
    if found is None:
        shown = text if len(text) <= 200 else text[:200] + "…"
        raise UrlError(
            f"{shown!r} is not a URL that can be fetched", hint="Write a URL such as https://example.org/path."
        )
    return found


def stored_url(text: str) -> Url:
    """Return the URL of a text that is in canonical form already: it is split, not parsed, so it never changes.

    >>> stored_url("http://example.com:8080/b") == canonical("http://example.com:8080/b")
    True
    """
    found = _split(text) if text.isascii() and text.isprintable() and " " not in text else None
    if found is None:
        raise UrlError(f"{text[:200]!r} is not a stored URL")
    return found


def typed_url(text: str) -> Url:
    """Return the canonical form of a URL as people type it: without a scheme, https is meant.

    >>> str(typed_url("Example.com/a")), str(typed_url("http://example.com"))
    ('https://example.com/a', 'http://example.com/')
    """
    try:
        return canonical(text)
    except UrlError:
        if _BARE.match(text) is None:
            raise
    return canonical(f"https://{text.strip()}")


def join(base: Url, href: str) -> Url | None:
    """Resolve a link on a page, or return ``None`` if it is not a fetchable URL (``javascript:``, ``http://``).

    >>> join(canonical("http://example.com/a/b"), "../c?d#e")
    Url('http://example.com/c?d')
    >>> join(canonical("http://example.com/"), "mailto:me@example.com")
    """
    text = base.text
    if href.startswith(("http://", "https://")) and len(href) <= _CACHED:
        return _absolute(href)  # independent of the base
    if href[:1] == "/" and text.startswith(("http://", "https://")) and _is_plain(href):
        return _moved(base, text.index("/", 8), href)
    if depends_on_folder(href) and text.startswith(("http://", "https://")):
        folder = folder_of(base)
        if len(folder) + len(href) <= _CACHED:
            return _join_in_folder(folder, href)
    return _join(text, href)


def folder_of(url: Url) -> str:
    """Return an http URL up to the last slash of its path.

    >>> folder_of(canonical("http://example.com/a/b?c=/d"))
    'http://example.com/a/'
    """
    return url.text[: url.text.rindex("/", 0, _path_end(url.text)) + 1]


def depends_on_folder(href: str) -> bool:
    """Return whether a link resolves to the same URL on all pages of a folder, as most links do.

    Exceptions are an empty link, ``?query``, ``#fragment``, characters that the parser strips before these, and
    ``http:?query``, which is relative if the page has the same scheme.
    """
    first = href[:1]
    if first <= "#" or first == "?":
        return False
    return first not in "hH" or href[:8].lower().startswith(("http://", "https://"))


def queue_key(url: Url, mode: str = "host") -> str:
    """Return the key of a URL's queue: its host or registered domain, without trailing dot.

    >>> queue_key(canonical("https://www.Example.com.:8443/"))
    'www.example.com'
    >>> queue_key(canonical("http://www.example.com/"), "domain")
    'example.com'
    """
    host = url.host.removesuffix(".")
    return registered_domain(host) if mode == "domain" else host


def host_of(text: str) -> str:
    """Return a host as canonical URLs spell it, or an empty string if the text is not exactly a host.

    >>> host_of("Bücher.example."), host_of("2606:2800::1"), host_of("example.org:8080"), host_of("*.example.org")
    ('xn--bcher-kva.example', '[2606:2800::1]', '', '')
    """
    name = text.strip(".")
    found = _parse(f"http://[{name}]/" if name.count(":") > 1 and "[" not in name else f"http://{name}/")
    if found is None or "@" in name or "*" in found.host or found.port is not None or found.target != "/":
        return ""
    return found.host


def _is_plain(target: str) -> bool:
    return len(target) <= _CACHED and _PLAIN_TARGET.fullmatch(target) is not None


def _path_end(text: str) -> int:
    mark = text.find("?")
    return len(text) if mark < 0 else mark


def _join(base: str, href: str) -> Url | None:
    try:
        return _tidy(ada_url.join_url(base, href))
    except ValueError:
        return None


def _moved(url: Url, origin_end: int, target: str) -> Url:
    """Return a URL of the same origin; its target must be canonical."""
    rest = len(url.text) - origin_end
    return Url(url.text[:origin_end] + target, url.key[: len(url.key) - rest] + target, url.host)


def _parse(href: str) -> Url | None:
    plain = _PLAIN_URL.fullmatch(href) if len(href) <= _CACHED else None
    if plain is not None:
        origin, target = plain.groups()
        root = _root(origin)
        if root is not None:
            return _moved(root, len(root.text) - 1, target)
    return _parse_whole(href)


@lru_cache(maxsize=ORIGIN_CACHE)
def _root(origin: str) -> Url | None:
    if _PLAIN_ORIGIN.fullmatch(origin) and "xn--" not in origin:
        return _with_parts(f"{origin}/", origin.index("/") + 2, len(origin))
    return _parse_whole(f"{origin}/")


def _parse_whole(href: str) -> Url | None:
    try:
        return _tidy(ada_url.normalize_url(href))
    except ValueError:  # a lone surrogate is a ValueError too
        return None


_join_in_folder = lru_cache(maxsize=JOIN_CACHE)(_join)
_absolute = lru_cache(maxsize=JOIN_CACHE)(_parse)


def _tidy(href: str) -> Url | None:
    """Make a serialised URL canonical: drop fragment and credentials, normalise escapes, find host and key."""
    if "#" in href:
        href = href[: href.index("#")]
    start = href.find("://") + 3
    if start < 3 or href.find(":") != start - 3 or href.startswith("javascript:"):
        return None  # mailto:, data: and others have no authority; javascript: may seem to have one
    end = _authority_end(href, start)
    authority = href[start:end]
    if "@" in authority:
        authority = authority[authority.rindex("@") + 1 :]
        href = href[:start] + authority + href[end:]
        end = start + len(authority)
    if "%" in href and _UNTIDY.search(href, end):
        href = href[:end] + _ESCAPE.sub(_settle, href[end:])
    return _with_parts(href, start, end)


def _split(href: str) -> Url | None:
    start = href.find("://") + 3
    end = _authority_end(href, start) if start > 3 else -1
    return None if end < 0 else _with_parts(href, start, end)


def _authority_end(href: str, start: int) -> int:
    if href.startswith(("http:", "https:")):
        return href.find("/", start)
    found = _AUTHORITY_END.search(href, start)  # others may lack a path, and have a slash in their query
    return found.start() if found else len(href)


def _with_parts(href: str, start: int, end: int) -> Url | None:
    """Find the host and the key of a canonical URL whose authority is from ``start`` to ``end``."""
    host = href[start:end]
    port = ""
    if ":" in host and host[-1] != "]":
        host, _, port = host.rpartition(":")
    if not host and not href.startswith("file:"):
        return None
    key = reversed_host(host)
    return Url(href, f"{key}:{port}){href[end:]}" if port else f"{key}){href[end:]}", host)


def _settle(escape: re.Match[str]) -> str:
    text = escape[0]
    character = chr(int(text[1:], 16))
    return character if character in _UNRESERVED else text.upper()
