"""An HTML page in one walk: title, text, links, and what it says about itself.

Lexbor builds the tree; ``*`` lists its elements in the order of the page, and one loop over that list does the rest. To
get the text by a single call, the loop takes text-level elements apart as it goes (``un<b>real</b>`` becomes one word),
takes out what is not text (scripts, styles), and leaves the others, which end a line each. By way of measure, on a page
of 25 KB with 55 links: the tree 98 µs, the list 15, the loop with links and anchors 37, the text 22, white space 26.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from msgspec import Struct
from selectolax.lexbor import LexborCSSSelector, LexborDocumentOptions, LexborHTMLParser, LexborNode, create_tag

from scoter.config import Config
from scoter.core.page import EMPTY, Content, Outlink, Page, Refresh
from scoter.core.url import Url, join
from scoter.parse.encoding import decoded
from scoter.parse.refresh import read_refresh
from scoter.parse.robots_meta import concerns, directives

MOST_LINKS: Final = 10_000
"""Links that are read of one page; a page with more is no page for readers."""
LONGEST_TITLE: Final = 1_000
LONGEST_ANCHOR: Final = 500

LINE_SEPARATORS: Final = tuple(
    "article aside blockquote canvas dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li"
    " main nav noscript ol output p pre section table tfoot ul video".split()
)
_TEXT_LEVEL: Final = (
    "a abbr acronym b bdi bdo big blink cite code data del dfn em font i ins kbd label mark nobr q rb ruby s samp small"
    " span strike strong sub sup time tt u var wbr"
).split()
_NO_TEXT: Final = "script style noscript template noframes noembed iframe object svg math".split()
# Where an element keeps its link. Nutch takes the same, forms by setting.
_LINKS: Final = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("frame", "iframe", "img", "script"), "src"),
}
_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value  # else <selectedcontent> clones, for nobody here
_BREAK: Final = "\x1e"  # a control character that stands for the end of a line until white space is dealt with
_SPACES: Final = "\n\t\r\f\xa0"

_LINK, _PIECE, _OUT, _TITLE, _META, _BASE = range(1, 7)


class HtmlOptions(Struct, frozen=True):
    """What of a page is wanted, and what is known about those who read it."""

    form_actions: bool = False
    ignored: tuple[str, ...] = ()
    line_separators: tuple[str, ...] = LINE_SEPARATORS
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
        self._selector = LexborCSSSelector()

    def read(self, content: Content) -> Page:
        """Return what a page says; whatever its bytes are, it says something."""
        options = self._options
        text = decoded(content.body, content.encoding, options.default_encoding)
        # Frameworks leave empty comments between pieces of one text; the pieces belong together.
        markup = text.utf8.replace(b"<!-- -->", b"") if b"<!-- -->" in text.utf8 else text.utf8
        tree = LexborHTMLParser(markup, options=_OPTIONS)
        found = _Found(content.url)
        self._walk(tree, found)
        said = directives(found.robots, content.robots, options.agents)
        return Page(
            url=content.url,
            title=found.title,
            text=_text(tree),
            outlinks=tuple(self._outlinks(found)),
            metadata=EMPTY,
            noindex=said.noindex,
            nofollow=said.nofollow,
            noarchive=said.noarchive,
            canonical=join(found.base, found.canonical) if found.canonical else None,
            refresh=found.refresh,
            base=None if found.base is content.url else found.base,
            encoding=text.encoding,
        )

    def _walk(self, tree: LexborHTMLParser, found: _Found) -> None:
        """Go over the elements once; what is taken apart or out stays in the list and is still looked at."""
        root = tree.root
        if root is None:
            return
        kind_of, links, agents = self._kinds.get, found.links, self._options.agents
        for node in self._selector.find("*", root):
            kind = kind_of(node.tag_id)
            if kind is None:
                continue
            if kind == _PIECE:
                node.unwrap(True)
            elif kind == _LINK:
                self._link(node, links)
            elif kind == _OUT:
                node.decompose(False)
            elif kind == _META:
                _meta(node, found, agents)
            elif kind == _TITLE:
                if not found.title and _name_of(node.parent) != "svg":
                    found.title = _words(node.text_lexbor(), LONGEST_TITLE)
            elif not found.based:
                found.set_base(node.attrs.get("href"))
        if (first := next((link for link in links if link[2] == "canonical"), None)) is not None:
            found.canonical = first[0]

    def _link(self, node: LexborNode, links: list[tuple[str, str, str, int]]) -> None:
        number = node.tag_id
        name, kind = self._links[number]
        attrs = node.attrs
        href = attrs.get(name)
        if href is not None and len(links) < MOST_LINKS:
            links.append((href, _anchor(node, number, attrs), (attrs.get("rel") or "").lower(), number))
        if kind == _PIECE:
            node.unwrap(True)
        elif kind == _OUT:
            node.decompose(False)

    def _outlinks(self, found: _Found) -> list[Outlink]:
        base, extra = found.base, self._extra
        links = [
            Outlink(target=target, anchor=anchor, rel=rel, extra=extra(number))
            for href, anchor, rel, number in found.links
            if (target := join(base, href)) is not None
        ]
        if found.refresh is not None and not found.refresh.is_redirect:
            links.append(Outlink(target=found.refresh.target))
        return links

    def _extra(self, number: int) -> Mapping[str, Any]:
        name = self._options.element_name
        return {name: _NAMES[number]} if name else EMPTY


class _Found:
    """What the walk has come upon so far."""

    def __init__(self, url: Url) -> None:
        self.url = url
        self.base = url
        self.based = False
        self.title = ""
        self.canonical = ""
        self.refresh: Refresh | None = None
        self.robots: list[str] = []
        self.links: list[tuple[str, str, str, int]] = []

    def set_base(self, href: str | None) -> None:
        """Take the first base element that has a link, good or not (HTML standard, 4.2.3)."""
        if href is not None:
            self.based = True
            self.base = join(self.url, href) or self.url


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
    # A cut in front spares the work on a page that is one long title.
    return " ".join(text[: 4 * longest].split())[:longest]


def _anchor(node: LexborNode, number: int, attrs: Any) -> str:
    if number != _A:
        return _words(attrs.get("alt") or attrs.get("title") or "", LONGEST_ANCHOR)
    text = _words(node.text_lexbor(), LONGEST_ANCHOR)
    if not text and (image := node.css_first("img[alt]")) is not None:
        text = _words(image.attrs.get("alt") or "", LONGEST_ANCHOR)
    return text


def _meta(node: LexborNode, found: _Found, agents: Collection[str]) -> None:
    attrs = node.attrs
    content = attrs.get("content")
    if not content:
        return
    name = attrs.get("name")
    if name is not None:
        if concerns(name.strip().lower(), agents):
            found.robots.append(content)
    elif (
        found.refresh is None
        and (attrs.get("http-equiv") or "").strip().lower() == "refresh"
        # A page that only readers without scripts are sent away from is meant to be read.
        and _name_of(node.parent) != "noscript"
    ):
        found.refresh = read_refresh(content, found.base)


def _name_of(node: LexborNode | None) -> str:
    return "" if node is None else node.tag or ""


def _number(name: str) -> int:
    return create_tag(name).tag_id


_A: Final = _number("a")
_NAMES: Final = {_number(name): name for name in (*_LINKS, "form")}


def _kinds(options: HtmlOptions) -> tuple[dict[int, int], dict[int, tuple[str, int]]]:
    """Return what to do with each element, and for links where they are and what becomes of the element."""
    lines = frozenset(options.line_separators)
    kinds = {_number(name): _PIECE for name in _TEXT_LEVEL if name not in lines}
    kinds |= {_number(name): _OUT for name in _NO_TEXT}
    kinds |= {_number("title"): _TITLE, _number("meta"): _META, _number("base"): _BASE}
    places = _LINKS | ({"form": "action"} if options.form_actions else {})
    links = {_number(name): (place, kinds.get(_number(name), 0)) for name, place in places.items() if name not in options.ignored}
    return kinds | dict.fromkeys(links, _LINK), links
