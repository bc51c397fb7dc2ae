"""The representative URL of a redirect: which of the two URLs people should see.

The rules are those of Yahoo's crawler Slurp, as in Nutch.
"""

from __future__ import annotations

from typing import Final

from scoter.core.url import Url

REPRESENTATIVE: Final = "_repr_"
"""Metadata key of a page's representative URL, if that is not its own; Nutch's name."""


def representative(source: Url, target: Url, *, permanent: bool) -> Url:
    """Return the source or the target of a redirect.

    Between domains it is the target. A permanent redirect from the root of a site keeps the root; any other leads to
    the target. Of a temporary redirect it is the root, if only one of them is; else, on one host, the URL with fewer
    path segments, then the shorter one, then the source; else the host with fewer labels, or the source.

    >>> from scoter.core.url import canonical
    >>> home, page = canonical("http://a.example/"), canonical("http://a.example/en/home.html")
    >>> str(representative(home, page, permanent=False)), str(representative(page, home, permanent=False))
    ('http://a.example/', 'http://a.example/')
    """
    if source.domain != target.domain:
        return target
    if permanent:
        return source if _is_root(source) else target
    if _is_root(source) != _is_root(target):
        return source if _is_root(source) else target
    if source.host == target.host and not _is_root(source):
        return min(source, target, key=lambda url: (_segments(url), len(url.target)))
    return min(source, target, key=lambda url: len(url.host.split(".")))


def _is_root(url: Url) -> bool:
    return url.target == "/"


def _segments(url: Url) -> int:
    return len(url.target.rstrip("/").split("/"))
