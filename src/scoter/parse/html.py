"""An HTML page in one walk: title, text, links, and what it says about itself.

Lexbor builds the tree; ``*`` lists its elements in the order of the page, and one loop over that list does the rest. To
get the text by a single call, the loop takes text-level elements apart as it goes (``un<b>real</b>`` becomes one word),
takes out what is not text (scripts, styles), and leaves the others, which end a line each. Measured over pages of 25 KB
with 55 links: the tree 108 µs, the list 28, the loop with links and anchors 76, text 50, white space 30, targets 15.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, TypeAlias

from msgspec import Struct
from selectolax.lexbor import LexborCSSSelector, LexborDocumentOptions, LexborHTMLParser, LexborNode, create_tag

from scoter.config import Config
from scoter.core.page import Content, Outlink, Page, Refresh
from scoter.core.url import Url, join
from scoter.parse.encoding import decoded
from scoter.parse.joining import Joiner
from scoter.parse.refresh import read_refresh
from scoter.parse.robots_meta import concerns, directives

MOST_LINKS: Final = 10_000
"""Links that are read of one page; a page with more is no page for readers."""
LONGEST_TITLE: Final = 1_000
LONGEST_ANCHOR: Final = 500
_ENOUGH: Final = 4 * LONGEST_ANCHOR  # characters in which an anchor is looked for, white space included

_TEXT_LEVEL: Final = (
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "blink", "cite", "code", "data", "del", "dfn", "em", "font"),
    *("i", "ins", "kbd", "label", "mark", "nobr", "q", "rb", "ruby", "s", "samp", "small", "span", "strike", "strong"),
    *("sub", "sup", "time", "tt", "u", "var", "wbr"),
)
_NO_TEXT: Final = ("script", "style", "noscript", "template", "noframes", "noembed", "iframe", "svg")
# Where an element keeps its link. Nutch takes the same, forms by setting.
_LINKS: Final = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("frame", "iframe", "img", "script"), "src"),
}
_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value  # else <selectedcontent> clones, for nobody here
_BREAK: Final = "\x1e"  # a control character that stands for the end of a line until white space is dealt with
_SPACES: Final = "\n\t\r\f\xa0"

_PIECE, _ANCHOR, _LINK, _OUT, _TITLE, _META, _BASE = range(1, 8)

_RawLink: TypeAlias = tuple[str, str, str, int]  # href, anchor, rel, and the number of the element's name


class HtmlOptions(Struct, frozen=True):
    """What of a page is wanted, and what is known about those who read it."""

    form_actions: bool = False
    ignored: tuple[str, ...] = ()
    line_separators: tuple[str, ...] = ()
    element_name: str = ""
    default_encoding: str = "windows-1252"
    agents: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: Config) -> HtmlOptions:
        """Return what the configuration says."""
        parse = config.parse
        return cls(
            form_actions=parse.html_form_use_action,
            ignored=parse.html_outlinks_ignore_tags,
            line_separators=parse.html_line_separators,
            element_name=parse.html_outlinks_htmlnode_metadata_name,
            default_encoding=parse.character_encoding_default,
            agents=tuple(name.lower() for name in (config.agent.name, *config.http.robots_agents) if name),
        )


class HtmlReader:
    """Reads pages by the same options, one after another; not to be shared among threads."""

    def __init__(self, options: HtmlOptions = HtmlOptions()) -> None:  # noqa: B008 - frozen
        self._options = options
        self._kinds, self._links = _kinds(options)
        self._joiner = Joiner()
        self._selector = LexborCSSSelector()  # type: ignore[no-untyped-call]

    def read(self, content: Content) -> Page:
        """Return what a page says; whatever its bytes are, it says something."""
        options = self._options
        url = content.url
        source = decoded(content.body, content.encoding, options.default_encoding)
        # Frameworks leave empty comments between pieces of one text; the pieces belong together.
        markup = source.utf8.replace(b"<!-- -->", b"") if b"<!-- -->" in source.utf8 else source.utf8
        tree = LexborHTMLParser(markup, options=_OPTIONS)
        found = _Found()
        self._walk(tree, found)
        base = (found.base and join(url, found.base)) or url
        said = directives(found.robots, content.robots, options.agents)
        refresh = read_refresh(found.refresh, base) if found.refresh else None
        return Page(
            url=url,
            title=found.title,
            text=_text(tree),
            outlinks=self._outlinks(found.links, base, refresh),
            noindex=said.noindex,
            nofollow=said.nofollow,
            noarchive=said.noarchive,
            canonical=_canonical(found.links, base),
            refresh=refresh,
            base=None if base is url else base,
            encoding=source.encoding,
        )

    def _walk(self, tree: LexborHTMLParser, found: _Found) -> None:
        """Go over the elements once, from the last to the first: a script in a link is out before the link is read.

        What is taken apart or out stays in the list and is still looked at, such as the links in a ``noscript``.
        """
        root = tree.root
        if root is None:
            return
        kind_of, links, agents = self._kinds.get, found.links, self._options.agents
        nodes = self._selector.find("*", root)
        nodes.reverse()
        for node in nodes:
            number = node.tag_id
            kind = kind_of(number)
            if kind is None:
                continue
            if kind == _PIECE:
                node.unwrap(True)
            elif kind == _ANCHOR:  # half of a page's links and more: here, to save a call
                attributes = node.attributes
                href = attributes.get("href")
                if href is not None:
                    rel = attributes.get("rel")
                    words = " ".join(node.text_lexbor()[:_ENOUGH].split()) or _alternative(node)
                    links.append((href, words[:LONGEST_ANCHOR], rel.lower() if rel else "", number))
                node.unwrap(True)
            elif kind == _LINK:
                self._link(node, number, links)
            elif kind == _OUT:
                node.decompose(False)
            elif kind == _META:
                _meta(node, found, agents)
            elif kind == _TITLE:
                if _name_of(node.parent) != "svg":
                    found.title = _words(node.text_lexbor(), LONGEST_TITLE) or found.title
            elif (href := node.attrs.get("href")) is not None:
                found.base = href
        links.reverse()

    def _link(self, node: LexborNode, number: int, links: list[_RawLink]) -> None:
        place, kind = self._links[number]
        attributes = node.attributes
        href = attributes.get(place)
        if href is not None:
            words = _words(attributes.get("alt") or attributes.get("title") or "", LONGEST_ANCHOR)
            links.append((href, words, (attributes.get("rel") or "").lower(), number))
        if kind == _PIECE:
            node.unwrap(True)
        elif kind == _OUT:
            node.decompose(False)

    def _outlinks(self, links: list[_RawLink], base: Url, refresh: Refresh | None) -> tuple[Outlink, ...]:
        name, joined = self._options.element_name, self._joiner.join
        known = self._joiner.known(base)
        where, elsewhere = known.get, self._joiner.absolute.get
        found = [
            Outlink(target=target, anchor=anchor, rel=rel)
            if not name
            else Outlink(target=target, anchor=anchor, rel=rel, extra={name: _NAMES[number]})
            for href, anchor, rel, number in links[:MOST_LINKS]
            if (target := where(href) or elsewhere(href) or joined(base, href, known)) is not None
        ]
        if refresh is not None and not refresh.is_redirect:
            found.append(Outlink(target=refresh.target))
        return tuple(found)


class _Found:
    """What the walk has come upon; it goes backwards, so that the last word is the page's first."""

    def __init__(self) -> None:
        self.title = ""
        self.base = ""
        self.refresh = ""
        self.robots: list[str] = []
        self.links: list[_RawLink] = []


def parse_html(content: Content, options: HtmlOptions = HtmlOptions()) -> Page:  # noqa: B008 - frozen
    """Return what an HTML page says.

    >>> from scoter.core.url import canonical
    >>> body = b'<title>Seals</title><p>Grey <b>seal</b>s</p><p><a href="/more">More</a></p>'
    >>> page = parse_html(Content(url=canonical("http://a.example/x"), media_type="text/html", body=body))
    >>> page.title, page.text, page.outlinks[0].target, page.outlinks[0].anchor
    ('Seals', 'Grey seals\\nMore', Url('http://a.example/more'), 'More')
    """
    return HtmlReader(options).read(content)


def _text(tree: LexborHTMLParser) -> str:
    """Return the text that is left in the tree: a line for each block, one space between words."""
    body = tree.body
    if body is None:
        return ""
    body.merge_text_nodes()
    text = body.text(separator=_BREAK, strip=True, skip_empty=True)
    for space in _SPACES:
        if space in text:
            text = text.replace(space, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text.replace(_BREAK, "\n").strip()


def _words(text: str, longest: int) -> str:
    # The first cut spares the work on a page that is one long title.
    return " ".join(text[: 4 * longest].split())[:longest]


def _alternative(node: LexborNode) -> str:
    """Return what stands for the image that a link without words shows."""
    image = node.css_first("img[alt]")
    return "" if image is None else _words(image.attributes["alt"] or "", LONGEST_ANCHOR)


def _canonical(links: list[_RawLink], base: Url) -> Url | None:
    for href, _, rel, number in links:
        if number == _LINK_ELEMENT and "canonical" in rel.split():
            return join(base, href)
    return None


def _meta(node: LexborNode, found: _Found, agents: Collection[str]) -> None:
    attributes = node.attributes
    content = attributes.get("content")
    if not content:
        return
    name = attributes.get("name")
    if name is not None and concerns(name.strip().lower(), agents):
        found.robots.append(content)
    elif (
        (attributes.get("http-equiv") or "").strip().lower() == "refresh"
        # A page that only readers without scripts are sent away from is meant to be read.
        and _name_of(node.parent) != "noscript"
    ):
        found.refresh = content


def _name_of(node: LexborNode | None) -> str:
    return "" if node is None else node.tag or ""


def _number(name: str) -> int:
    return create_tag(name).tag_id


_A: Final = _number("a")
_LINK_ELEMENT: Final = _number("link")
_NAMES: Final = {_number(name): name for name in (*_LINKS, "form")}


def _kinds(options: HtmlOptions) -> tuple[dict[int, int], dict[int, tuple[str, int]]]:
    """Return what to do with each element, and for links where they are and what becomes of the element."""
    lines = frozenset(options.line_separators)
    kinds = {_number(name): _PIECE for name in _TEXT_LEVEL if name not in lines}
    kinds |= {_number(name): _OUT for name in _NO_TEXT}
    kinds |= {_number("title"): _TITLE, _number("meta"): _META, _number("base"): _BASE}
    places = _LINKS | ({"form": "action"} if options.form_actions else {})
    links = {
        _number(name): (place, kinds.get(_number(name), 0))
        for name, place in places.items()
        if name not in options.ignored
    }
    kinds |= dict.fromkeys(links, _LINK)
    if links.pop(_A, None) is not None:
        kinds[_A] = _ANCHOR
    return kinds, links
