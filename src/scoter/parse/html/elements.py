"""How the walk over a page treats each element."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from selectolax.lexbor import create_tag

from scoter.parse.html.options import HtmlOptions


def name_set(*lines: str) -> frozenset[str]:
    """Return the names in lines of text.

    >>> sorted(name_set("b i", "u"))
    ['b', 'i', 'u']
    """
    return frozenset(name for line in lines for name in line.split())


TEXT_LEVEL: Final = name_set(
    "a abbr acronym b bdi bdo big blink cite code data del dfn em font i ins kbd label mark nobr q rb rp rt rtc ruby",
    "s samp small span strike strong sub sup time tt u var wbr",
)
_NO_TEXT: Final = name_set("script style noscript template noframes noembed iframe svg")
UNSEEN: Final = frozenset((0, 4))
"""Lexbor's numbers for processing instructions and comments."""
# Attributes that hold links. Nutch reads those of the first two lines, and forms if so configured.
_LINK_ATTRIBUTES: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("a", "area", "link"), ("href",)),
    **dict.fromkeys(("frame", "iframe", "img", "script"), ("src",)),
    **dict.fromkeys(("audio", "embed", "source", "track"), ("src",)),
    "video": ("poster", "src"),
    "object": ("data",),
}
_MEDIA: Final = name_set("audio embed object source track video")

# Actions of the walk. From LINK on, the element has links.
PIECE, ANCHOR, OUT, HEADING, TERM, META, TITLE, BASE, ROOT, LINK, IMAGE, REFERENCE, SCRIPT = range(13)


class LinkElement(Struct, frozen=True):
    """An element with links: the attributes that hold them, and its name."""

    attributes: tuple[str, ...]
    name: str


def number(name: str) -> int:
    """Return Lexbor's number for an element."""
    return create_tag(name).tag_id


KINDS: Final = {name: "media" if name in _MEDIA else name for name in (*_LINK_ATTRIBUTES, "form", "text")}
"""The kind of a link by the element it was found in."""

HEADINGS: Final = {number(f"h{level}"): level for level in range(1, 7)}


def actions(options: HtmlOptions) -> tuple[dict[int, int], dict[int, int], dict[int, LinkElement]]:
    """Return by Lexbor's numbers: actions, PIECE or OUT for those afterwards, and elements with links."""
    lines = frozenset(options.line_separators)
    kinds = {number(name): PIECE for name in TEXT_LEVEL if name not in lines}
    kinds |= {number(name): OUT for name in _NO_TEXT} | dict.fromkeys(UNSEEN, OUT)
    after = dict(kinds)
    kinds |= dict.fromkeys(HEADINGS, HEADING) | {number("dt"): TERM}
    kinds |= {number("title"): TITLE, number("meta"): META, number("base"): BASE, number("html"): ROOT}
    wanted = _LINK_ATTRIBUTES | ({"form": ("action",)} if options.form_actions else {})
    link_elements = {
        number(name): LinkElement(attributes, name)
        for name, attributes in wanted.items()
        if name not in options.ignored
    }
    kinds |= dict.fromkeys(link_elements, LINK)
    if "a" not in options.ignored:
        kinds[number("a")] = ANCHOR
    # Even if their links are ignored, images supply anchor text, and ``link`` elements the other versions of a page.
    kinds |= {number("img"): IMAGE, number("link"): REFERENCE}
    if "source" not in options.ignored:
        kinds[number("source")] = IMAGE
    if options.script_links:
        kinds[number("script")] = SCRIPT
    return kinds, after, link_elements
