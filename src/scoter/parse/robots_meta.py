"""What a page asks of robots: ``<meta name=robots>`` and the header field ``X-Robots-Tag``.

Both hold words such as ``noindex`` and ``nofollow``; the header field may name the robot it means, as in
``examplebot: noindex``. What is said to all robots and what is said to us add up, so that the stricter word holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

_LONGEST = 4_096  # characters that are read of a field
# Words that take a value after a colon, and so do not name a robot.
_VALUED = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})


class Directives(Struct, frozen=True):
    """What a page does not want.

    >>> directives(["NoIndex, follow"])
    Directives(noindex=True, nofollow=False, noarchive=False)
    """

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


def directives(meta: Iterable[str], header: str = "", agents: Collection[str] = ()) -> Directives:
    """Read the contents of the meta elements that concern us, and the header fields, one a line.

    >>> directives([], "otherbot: noindex, none", agents=["examplebot"])
    Directives(noindex=False, nofollow=False, noarchive=False)
    >>> directives(["none"], "examplebot: noarchive", agents=["examplebot"])
    Directives(noindex=True, nofollow=True, noarchive=True)
    """
    words: set[str] = set()
    for content in meta:
        words.update(_words(content))
    if header:
        for line in header.splitlines():
            words.update(_addressed(line, agents))
    return _EMPTY if not words else _meaning(words)


def concerns(name: str, agents: Collection[str]) -> bool:
    """Tell whether a meta element of that name speaks to all robots or to us."""
    return name == "robots" or name in agents


_EMPTY = Directives()


def _words(text: str) -> list[str]:
    return text[:_LONGEST].lower().replace(",", " ").replace(";", " ").split()


def _addressed(line: str, agents: Collection[str]) -> list[str]:
    """Return the words of a field that are meant for us; a robot's name holds until the next one."""
    found: list[str] = []
    ours = True
    for item in line[:_LONGEST].lower().split(","):
        name, colon, rest = item.partition(":")
        if colon and name.strip() not in _VALUED:
            ours = name.strip() in ("*", "robots") or name.strip() in agents
            item = rest
        if ours:
            found += item.split()
    return found


def _meaning(words: set[str]) -> Directives:
    none = "none" in words
    return Directives(
        noindex=none or "noindex" in words,
        nofollow=none or "nofollow" in words,
        noarchive="noarchive" in words or "nocache" in words,
    )
