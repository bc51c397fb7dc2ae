"""Read from an HTML page what a report on a site's health needs: every address on it, and what it says about itself.

Links of the crawl (``reader.py``) leave out what a crawler does not follow. This keeps everything that a browser would
load or a reader click: nofollow links, images of every size, styles, scripts, frames, and addresses in styles; with
their fragments, and the names on the page that fragments may lead to.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from msgspec import Struct
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from scoter.core.page import Content
from scoter.core.url import Url, join
from scoter.parse.encoding import decode_page
from scoter.parse.html.attributes import read_refresh
from scoter.parse.prescan import shallow_part
from scoter.parse.robots_meta import concerns, directives

MOST_LINKS: Final = 20_000
"""Addresses read from one page."""
MOST_NAMES: Final = 20_000
"""Names on one page that fragments may lead to."""
LONGEST_TEXT: Final = 200
LONGEST_VALUE: Final = 1_000
_LONGEST_ADDRESS: Final = 4_096
_ENOUGH: Final = 4 * LONGEST_TEXT
_LONGEST_SRCSET: Final = 20_000
_LONGEST_STYLE: Final = 2**20

_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value
_SOURCES: Final = {
    "a": (("href", "a"),),
    "area": (("href", "a"),),
    "img": (("src", "image"), ("longdesc", "a")),
    "input": (("src", "image"),),
    "script": (("src", "script"),),
    "iframe": (("src", "frame"),),
    "frame": (("src", "frame"),),
    "embed": (("src", "object"),),
    "object": (("data", "object"),),
    "audio": (("src", "media"),),
    "video": (("src", "media"), ("poster", "image")),
    "source": (("src", "media"),),
    "track": (("src", "media"),),
    "form": (("action", "form"),),
    "button": (("formaction", "form"),),
    "blockquote": (("cite", "cite"),),
    "q": (("cite", "cite"),),
    "del": (("cite", "cite"),),
    "ins": (("cite", "cite"),),
    "body": (("background", "image"),),
    "image": (("href", "image"), ("xlink:href", "image")),
}
"""The attributes of an element that hold addresses, and the kinds of these."""
_SELECTOR: Final = ",".join((*_SOURCES, "link", "meta", "base", "title", "h1,h2,h3,h4,h5,h6", "style", "[style]"))
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_LINK_KINDS: Final = (
    ("stylesheet", "style"),
    ("icon", "image"),
    ("apple-touch-icon", "image"),
    ("mask-icon", "image"),
    ("canonical", "canonical"),
    ("preload", "preload"),
    ("modulepreload", "script"),
)
_HINTS: Final = frozenset(("dns-prefetch", "preconnect", "pingback", "edituri", "profile", "webmention"))
_IMAGES_OF_METAS: Final = frozenset(("og:image", "og:image:url", "og:image:secure_url", "twitter:image"))
_STYLE_ADDRESS: Final = re.compile(
    r"""url\(\s*+(?:"([^"\n]{1,4096})"|'([^'\n]{1,4096})'|([^\s"'()]{1,4096}))\s*+\)"""
    r"""|@import\s++(?:"([^"\n]{1,4096})"|'([^'\n]{1,4096})')""",
    re.IGNORECASE,
)
_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_SCHEME: Final = re.compile(r"\s*+([a-z][a-z0-9+.-]*+)\s*+:", re.IGNORECASE)
_WEB: Final = ("http", "https")
_ROUTE: Final = ("/", "!", ":~:")
"""How fragments begin that scripts or browsers interpret."""


class PageLink(Struct, frozen=True, gc=False):
    """An address on a page: its target, or ``None`` if it is not a valid address of the web, and how it is spelled."""

    target: Url | None
    href: str
    fragment: str
    text: str
    kind: str
    nofollow: bool = False


class PageAudit(Struct, frozen=True, kw_only=True):
    """What a page has: its links, the names that fragments may lead to, and what it says about itself.

    ``description`` is what the page itself declares, never made from its text. ``skipped`` is the first heading that
    skips a level, such as ``h2 → h4 Habitat``.
    """

    titles: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    """The headings of level 1."""
    skipped: str = ""
    canonicals: tuple[str, ...] = ()
    noindex: bool = False
    nofollow: bool = False
    language: str = ""
    names: tuple[str, ...] = ()
    links: tuple[PageLink, ...] = ()
    refresh: str = ""
    """The target of an immediate refresh, which makes the page a redirect."""


def audit(content: Content, *, default_encoding: str = "windows-1252", agents: tuple[str, ...] = ()) -> PageAudit:
    """Read a page; any bytes give a result.

    >>> from scoter.core.url import canonical
    >>> body = b'<title>Seals</title><h1>Seals</h1><p id=x>Grey <a href="/more#y" rel=nofollow>more</a>'
    >>> found = audit(Content(url=canonical("http://a.example/"), media_type="text/html", body=body))
    >>> found.titles, found.headings, found.names
    (('Seals',), ('Seals',), ('x',))
    >>> [(link.target.text, link.fragment, link.text, link.nofollow) for link in found.links]
    [('http://a.example/more', 'y', 'more', True)]
    """
    source = decode_page(content.body, content.encoding, default_encoding)
    tree = LexborHTMLParser(shallow_part(source.utf8), options=_OPTIONS, scripting=True)
    root = tree.root
    if root is None:
        return PageAudit()
    parts = _Parts(content.url, agents)
    nodes = root.css(_SELECTOR)
    parts.base = _base(nodes, content.url)
    for node in nodes:
        parts.take(node, node.tag or "")
    html = tree.css_first("html")
    said = directives(parts.robots, content.robots, agents)
    refresh = read_refresh(parts.refresh, parts.base) if parts.refresh else None
    if refresh is not None:
        parts.add("refresh", refresh.target.text)
    return PageAudit(
        titles=tuple(parts.titles),
        descriptions=tuple(parts.descriptions),
        headings=tuple(parts.headings),
        skipped=parts.skipped,
        canonicals=tuple(dict.fromkeys(parts.canonicals)),
        noindex=said.noindex,
        nofollow=said.nofollow,
        language=((html and html.attributes.get("lang")) or "").strip()[:LONGEST_TEXT],
        names=_names(root),
        links=tuple(parts.links[:MOST_LINKS]),
        refresh=refresh.target.text if refresh is not None and refresh.is_redirect else "",
    )


def style_links(text: str, base: Url) -> list[PageLink]:
    """Return the addresses in a style sheet.

    >>> from scoter.core.url import canonical
    >>> found = style_links('@import "a.css"; p { background: url(b.png) }', canonical("http://a.example/css/x.css"))
    >>> [(link.target.text, link.kind) for link in found]
    [('http://a.example/css/a.css', 'style'), ('http://a.example/css/b.png', 'image')]
    """
    parts = _Parts(base, ())
    parts.style(text)
    return parts.links[:MOST_LINKS]


class _Parts:
    """What a page has, as it is found."""

    def __init__(self, url: Url, agents: tuple[str, ...]) -> None:
        self.base = url
        self._agents = agents
        self.titles: list[str] = []
        self.descriptions: list[str] = []
        self.headings: list[str] = []
        self.canonicals: list[str] = []
        self.robots: list[str] = []
        self.refresh = ""
        self.skipped = ""
        self._level = 0
        self.links: list[PageLink] = []

    def take(self, node: LexborNode, tag: str) -> None:
        """Take what one element has."""
        attributes = node.attributes
        if tag in _SOURCES:
            self._sources(node, tag, attributes)
        elif tag == "link":
            self._link(attributes)
        elif tag == "meta":
            self._meta(attributes)
        elif tag == "title":
            if node.parent is not None and node.parent.tag == "head" and len(self.titles) < 10:
                self.titles.append(_one_line(node.text_lexbor(), LONGEST_VALUE))
        elif tag in _HEADINGS:
            self._heading(node, _HEADINGS[tag])
        elif tag == "style":
            self.style(node.text_lexbor() or "")
        if style := attributes.get("style"):
            self.style(style)

    def _sources(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> None:
        text = ""
        nofollow = "nofollow" in (attributes.get("rel") or "").lower()
        for name, kind in _SOURCES[tag]:
            href = attributes.get(name)
            if href is None or (tag == "form" and not href):
                continue
            if not text:
                text = _link_text(node, tag, attributes)
            self.add(kind, href, text, nofollow=nofollow)
        if "srcset" in attributes:
            for address in _srcset(attributes["srcset"] or ""):
                self.add("image", address, text or _link_text(node, tag, attributes))

    def _link(self, attributes: dict[str, str | None]) -> None:
        href = attributes.get("href")
        rels = (attributes.get("rel") or "").lower().split()
        if not href or not _HINTS.isdisjoint(rels):
            return
        kind = next((kind for rel, kind in _LINK_KINDS if rel in rels), "link")
        language = (attributes.get("hreflang") or "").strip()
        if "alternate" in rels and language and kind == "link":
            self.add("hreflang", href, language)
            return
        self.add(kind, href, " ".join(rels))
        if kind == "canonical" and self.links and self.links[-1].target is not None:
            self.canonicals.append(self.links[-1].target.text)

    def _meta(self, attributes: dict[str, str | None]) -> None:
        content = attributes.get("content") or ""
        if (attributes.get("http-equiv") or "").strip().lower() == "refresh":
            self.refresh = self.refresh or content
            return
        name = (attributes.get("name") or attributes.get("property") or "").strip().lower()
        if name == "description" and len(self.descriptions) < 10:
            self.descriptions.append(_one_line(content, LONGEST_VALUE))
        elif name in _IMAGES_OF_METAS and content:
            self.add("image", content, name)
        elif name and concerns(name, self._agents):
            self.robots.append(content)

    def _heading(self, node: LexborNode, level: int) -> None:
        if level == 1 and len(self.headings) < 10:
            self.headings.append(_one_line(node.text(separator=" "), LONGEST_VALUE))
        if not self.skipped and self._level and level > self._level + 1:
            self.skipped = f"h{self._level} → h{level} {_one_line(node.text(separator=' '), LONGEST_TEXT)}".strip()
        self._level = level

    def style(self, text: str) -> None:
        """Take the addresses in styles."""
        if "url(" not in text.lower() and "@import" not in text.lower():
            return
        for found in _STYLE_ADDRESS.finditer(_COMMENT.sub(" ", text[:_LONGEST_STYLE])):
            before = text[max(0, found.start() - 20) : found.start()].lower()
            address = next(filter(None, found.groups()), "")
            is_import = found[0][:1] == "@" or "@import" in before
            if not address.startswith(("data:", "#")):
                self.add("style" if is_import else "image", address, "in a style")

    def add(self, kind: str, href: str, text: str = "", *, nofollow: bool = False) -> None:
        """Add an address, unless it is of a scheme that cannot be fetched."""
        if len(self.links) > MOST_LINKS:
            return
        plain = href.strip()[:_LONGEST_ADDRESS]
        scheme = _SCHEME.match(plain[:40])
        is_local = scheme is not None and scheme[1].lower() == "file"  # readers have no such file
        if scheme is not None and scheme[1].lower() not in _WEB and not is_local:
            return
        target = None if is_local else join(self.base, plain)
        fragment = ""
        if target is not None and "#" in plain and kind in ("a", "frame"):
            fragment = unquote(plain.partition("#")[2])[:LONGEST_TEXT]
            if fragment.startswith(_ROUTE) or fragment.lower() == "top":
                fragment = ""
        self.links.append(PageLink(target, plain, fragment, text, kind, nofollow))


def _base(nodes: list[LexborNode], url: Url) -> Url:
    for node in nodes:
        if node.tag == "base" and (href := node.attributes.get("href")) is not None:
            return join(url, href) or url
    return url


def _names(root: LexborNode) -> tuple[str, ...]:
    found = [node.attributes.get("id") for node in root.css("[id]")[:MOST_NAMES]]
    found += [node.attributes.get("name") for node in root.css("a[name]")[:MOST_NAMES]]
    return tuple(dict.fromkeys(name[:LONGEST_TEXT] for name in found if name))


def _link_text(node: LexborNode, tag: str, attributes: dict[str, str | None]) -> str:
    """Return what a reader sees of a link: its text, or that of its image."""
    if tag == "a":
        text = _one_line(node.text(separator=" "), LONGEST_TEXT)
        if text:
            return text
        image = node.css_first("img[alt]")
        label = (image and image.attributes.get("alt")) or attributes.get("aria-label") or attributes.get("title")
        return _one_line(label or "", LONGEST_TEXT)
    return _one_line(attributes.get("alt") or attributes.get("title") or "", LONGEST_TEXT)


def _srcset(text: str) -> list[str]:
    """Return the addresses of a ``srcset``.

    >>> _srcset("a.jpg 320w,b.jpg 640w"), _srcset("a.jpg, b,c.jpg 2x , d.jpg")
    (['a.jpg', 'b.jpg'], ['a.jpg', 'b,c.jpg', 'd.jpg'])
    """
    found, is_address = [], True
    for word in text[:_LONGEST_SRCSET].split():
        rest = word
        if not is_address:  # it is a descriptor, which a comma ends
            _, comma, rest = word.partition(",")
            is_address = bool(comma)
        if is_address and (address := rest.strip(",")):
            found.append(address)
            is_address = rest.endswith(",")
    return found


def _one_line(text: str | None, longest: int) -> str:
    return " ".join((text or "")[: 4 * longest].split())[:longest]
