"""The robots.txt files of the synthetic web, and the verdicts they imply, written by hand.

No parser computes the verdicts: for every kind of file the meaning is stated next to the text, so that a crawler's
parser can be checked against it.
"""

from __future__ import annotations

from enum import StrEnum

from scoter.simweb.facts import SimVerdict

#: RFC 9309 section 2.5: a parser reads at least 500 KiB; Scoter reads exactly that.
PARSE_LIMIT = 500 * 1024

#: The folder that some robots.txt files disallow.
PRIVATE = "/private/"
#: A folder inside it that a longer rule allows again.
PRESS = "/private/press/"
EARLY = "/early/"
LATE = "/late/"
#: Targets of redirected robots.txt files: on the same host, or on the first host.
MOVED_HERE_PATH = "/well/robots-rules.txt"
MOVED_AWAY_PATH = "/well/robots-shared.txt"
_FOLDER_RULES = (
    "# Everybody is welcome, apart from one folder and the printable copies.\n"
    "User-agent: greedybot\n"
    "Disallow: /\n"
    "\n"
    "User-agent: *\n"
    "Disallow: /private/\n"
    "Allow: /private/press/\n"
    "Disallow: /*.print$\n"
)


class RobotsKind(StrEnum):
    """The kind of a host's robots.txt. The first nine occur without faults, the others only with them."""

    ABSENT = "absent"
    FORBIDDEN = "forbidden"
    OPEN = "open"
    FOLDER = "folder"
    BOM = "bom"
    CLOSED = "closed"
    DELAY = "delay"
    MOVED_HERE = "moved-here"
    MOVED_AWAY = "moved-away"
    LONG_DELAY = "long-delay"
    SERVER_ERROR = "server-error"
    BUSY = "busy"
    HANG_UP = "hang-up"
    HUGE = "huge"


#: Hosts from which nothing is ever fetched, so links on their pages do not count.
SHUT = frozenset(
    {RobotsKind.CLOSED, RobotsKind.LONG_DELAY, RobotsKind.SERVER_ERROR, RobotsKind.BUSY, RobotsKind.HANG_UP}
)

WITH_FOLDER_RULES = frozenset({RobotsKind.FOLDER, RobotsKind.BOM, RobotsKind.MOVED_HERE, RobotsKind.MOVED_AWAY})


_RULES = {
    RobotsKind.OPEN: "User-agent: *\nDisallow:\n\n",
    # A parser that does not skip the BOM misses the first line and with it the group.
    RobotsKind.BOM: f"\ufeffUser-agent: *\nDisallow: {PRIVATE}\nAllow: {PRESS}\nDisallow: /*.print$\n",
    RobotsKind.CLOSED: "User-agent: *\nDisallow: /\n",
    RobotsKind.DELAY: "User-agent: *\nCrawl-delay: 0.05\nDisallow:\n",
    RobotsKind.LONG_DELAY: "User-agent: *\nCrawl-delay: 4500\nDisallow:\n",
}


def shared_rules() -> bytes:
    """Return the rules that redirected robots.txt files lead to."""
    return _FOLDER_RULES.encode()


def rules(kind: RobotsKind, sitemap: str = "") -> bytes:
    """Return the text of a robots.txt that is served with 200."""
    if kind is RobotsKind.HUGE:
        return _huge()
    return (_RULES.get(kind, _FOLDER_RULES) + (f"Sitemap: {sitemap}\n" if sitemap else "")).encode()


def _huge() -> bytes:
    head = f"User-agent: *\nDisallow: {EARLY}\n".encode()
    filler = b"".join(b"# line %06d of a list that somebody keeps in the wrong place\n" % n for n in range(9000))
    # Pad up to the limit with whole comment lines, so that no parser sees a partial rule.
    room = PARSE_LIMIT - len(head)
    padding = filler[: filler.rindex(b"\n", 0, room) + 1]
    padding += b"#" * (room - len(padding) - 1) + b"\n"
    return head + padding + f"Disallow: {LATE}\n".encode() + filler[:100_000]


def verdict(kind: RobotsKind, path: str) -> SimVerdict:
    """Return the verdict of this kind of file on a path, for an obedient crawler that waits at most 30 s."""
    if path == "/robots.txt":
        # RFC 9309 section 2.2.2: the file itself is always allowed.
        return SimVerdict.ALLOWED
    if kind in WITH_FOLDER_RULES:
        closed = path.startswith(PRIVATE) and not path.startswith(PRESS)
        return SimVerdict.DENIED if closed or path.endswith(".print") else SimVerdict.ALLOWED
    match kind:
        case RobotsKind.CLOSED | RobotsKind.LONG_DELAY:
            return SimVerdict.DENIED
        case RobotsKind.SERVER_ERROR | RobotsKind.BUSY | RobotsKind.HANG_UP:
            return SimVerdict.UNREACHABLE
        case RobotsKind.HUGE:
            # The rule for /late/ is beyond the limit and does not count.
            return SimVerdict.DENIED if path.startswith(EARLY) else SimVerdict.ALLOWED
        case _:
            return SimVerdict.ALLOWED
