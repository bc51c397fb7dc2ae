"""What to do with which element of a page."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from selectolax.lexbor import create_tag

from scoter.parse.html.options import HtmlOptions

UNHEARD: Final = ":not(div,p,li)"
"""The elements that the walk visits: all but the most frequent of those that mean a new line and nothing else."""

TEXT_LEVEL: Final = (
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "blink", "cite", "code", "data", "del", "dfn", "em", "font"),
    *("i", "ins", "kbd", "label", "mark", "nobr", "q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp", "small", "span"),
    *("strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
)
_NO_TEXT: Final = ("script", "style", "noscript", "template", "noframes", "noembed", "iframe", "svg")
# Where an element keeps its links. Nutch takes those of the first two lines, forms by setting.
_PLACES: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("a", "area", "link"), ("href",)),
    **dict.fromkeys(("frame", "iframe", "img", "script"), ("src",)),
    **dict.fromkeys(("audio", "embed", "source", "track"), ("src",)),
    "video": ("poster", "src"),
    "object": ("data",),
}
_MEDIA: Final = frozenset({"audio", "embed", "object", "source", "track", "video"})

# What the walk does; from LINK on there are links to be noted.
PIECE, ANCHOR, OUT, HEADING, META, TITLE, BASE, ROOT, LINK, IMAGE, REFERENCE, SCRIPT = range(12)


class LinkElement(Struct, frozen=True):
    """Where the links of an element are, how they are called, and whether the element is taken apart (PIECE) or out."""

    attributes: tuple[str, ...]
    name: str
    after: int | None = None


def number(name: str) -> int:
    """Return the number that Lexbor knows an element by."""
    return create_tag(name).tag_id


KINDS: Final = {name: "media" if name in _MEDIA else name for name in (*_PLACES, "form", "text")}
"""What a link is called that was found in an element."""

HEADINGS: Final = {number(f"h{level}"): level for level in range(1, 7)}


def actions(options: HtmlOptions) -> tuple[dict[int, int], dict[int, LinkElement]]:
    """Return what to do with each element by its number, and where those with links keep them."""
    lines = frozenset(options.line_separators)
    kinds = {number(name): PIECE for name in TEXT_LEVEL if name not in lines}
    kinds |= {number(name): OUT for name in _NO_TEXT}
    kinds |= dict.fromkeys(HEADINGS, HEADING)
    kinds |= {number("title"): TITLE, number("meta"): META, number("base"): BASE, number("html"): ROOT}
    wanted = _PLACES | ({"form": ("action",)} if options.form_actions else {})
    places = {
        number(name): LinkElement(attributes, name, kinds.get(number(name)))
        for name, attributes in wanted.items()
        if name not in options.ignored
    }
    kinds |= dict.fromkeys(places, LINK)
    if "a" not in options.ignored:
        kinds[number("a")] = ANCHOR
    # Even where their links are ignored, an image stands for the words of a link, and a reference tells of other forms.
    kinds |= {number("img"): IMAGE, number("link"): REFERENCE}
    if "source" not in options.ignored:
        kinds[number("source")] = IMAGE
    if options.script_links:
        kinds[number("script")] = SCRIPT
    return kinds, places
