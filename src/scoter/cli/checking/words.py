"""What short names mean, in words: why a type or an encoding was chosen, why a link is dropped, a parse failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TYPE_WHY: Final[Mapping[str, str]] = {
    "header": "the server says so",
    "bytes": "its first bytes say so",
    "extension": "by the extension in its URL",
    "magic": "by a table of file signatures",
    "default": "nothing tells what it is",
}

ENCODING_WHY: Final[Mapping[str, str]] = {
    "bom": "a byte order mark says so",
    "http": "the server says so",
    "meta": "a meta element says so",
    "xml": "the XML declaration says so",
    "utf-8": "its bytes are valid UTF-8",
    "detector": "a guess by its bytes",
    "default": "the default: nothing tells what it is",
}

DROPPED: Final[Mapping[str, str]] = {
    "page_nofollow": "the page says nofollow",
    "nofollow": "its rel says nofollow",
    "too_long": "longer than db.max_outlink_length",
    "self": "leads to the page itself",
    "internal": "stays on the site (db.ignore_internal_links)",
    "external": "leaves the site (db.ignore_external_links)",
    "no_url": "no URL after normalising",
    "filtered": "refused by the URL filters",
    "repeated": "the page has it already",
    "too_many": "more than db.max_outlinks_per_page",
}

FAILED: Final[Mapping[str, tuple[str, str]]] = {
    "no_parser": (
        "no active parser reads its type",
        "parse.parsers names the active ones, parse.types says what reads a type; --force-as takes it for another.",
    ),
    "truncated": (
        "only part of it came, and parse.skip_truncated is on",
        "-D fetch.content_limit=8MiB takes more of it; -D parse.skip_truncated=false parses what there is.",
    ),
    "empty": ("the parser found nothing in it", ""),
    "broken_plugin": ("a plug-in failed on it", ""),
    "timeout": ("parsing took too long", "-D parse.timeout=2m gives it more time."),
    "memory": ("parsing took too much memory", "-D parse.memory=4GiB gives it more."),
    "crash": ("the parser process died of it", ""),
}


def size(number: int) -> str:
    """Return a number of bytes for people.

    >>> size(900), size(23_011)
    ('900 bytes', '23,011 bytes')
    """
    return f"{number:,} bytes" if number != 1 else "1 byte"


def span(seconds: float) -> str:
    """Return a short time for people.

    >>> span(0.000042), span(0.00831), span(0.0837), span(5.0612)
    ('42 µs', '8.3 ms', '84 ms', '5.1 s')
    """
    if seconds >= 1:
        return f"{seconds:.1f} s"
    if seconds >= 0.001:
        return f"{seconds * 1000:.{1 if seconds < 0.01 else 0}f} ms"
    return f"{seconds * 1_000_000:.0f} µs"


def count(number: int, one: str, many: str = "") -> str:
    """Return a number of things.

    >>> count(1, "page"), count(2, "entry", "entries")
    ('1 page', '2 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
