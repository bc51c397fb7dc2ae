"""What the walk over a page collects, and the text of the page."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Mapping
from typing import Final, TypeAlias

from selectolax.lexbor import LexborHTMLParser, LexborNode

from scoter.core.page import EMPTY, Alternate
from scoter.core.url import Url, join
from scoter.parse.byte_search import may_have_two_blanks
from scoter.parse.encoding import encode_query
from scoter.parse.html.elements import UNSEEN
from scoter.parse.robots_meta import concerns

LONGEST_HEADING: Final = 500
MOST_METAS: Final = 200
LONGEST_META: Final = 2_000
MOST_ALTERNATES: Final = 200
_LONGEST_NAME: Final = 200
_DEEPEST: Final = 8  # levels between a link and its image
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}")
_ALTERNATE_RELS: Final = frozenset({"alternate", "amphtml"})
_NOT_ALTERNATE_RELS: Final = frozenset({"stylesheet", "icon"})
_HINT_RELS: Final = frozenset({"dns-prefetch", "preconnect"})
_BREAK: Final = "\x1e"  # stands for a line break until white space is normalised
_SPACES: Final = "\n\t\r\f\xa0"

RawLink: TypeAlias = tuple[str, str, str, str]  # href, anchor, rel, and the element's name
Attributes: TypeAlias = Mapping[str, str | None]


class PageParts:
    """What the walk has found. It goes backwards, so later values overwrite earlier ones with the first of the page."""

    def __init__(self) -> None:
        self.title = ""
        self.base = ""
        self.refresh = ""
        self.canonical: str | None = None
        self.language = ""
        self.robots: list[str] = []
        self.links: list[RawLink] = []
        self.metas: list[tuple[str, str]] = []
        self.alternates: list[Attributes] = []
        self.scripts: list[str] = []
        self.image: LexborNode | None = None
        self.image_label = ""

    def encode_queries(self, encoding: str) -> None:
        """Encode the queries of links in the encoding of the page."""
        self.links = [
            link if link[0].isascii() else (encode_query(link[0], encoding), link[1], link[2], link[3])
            for link in self.links
        ]
        if self.canonical is not None:
            self.canonical = encode_query(self.canonical, encoding)
        self.refresh = encode_query(self.refresh, encoding)
        self.alternates = [{**each, "href": encode_query(each.get("href") or "", encoding)} for each in self.alternates]

    def add_reference(self, rel: str, attributes: Attributes) -> bool:
        """Record what a ``<link>`` says about the page; return whether it only hints at a host to connect to."""
        kinds = rel.split()
        if "canonical" in kinds and (href := attributes.get("href")):
            self.canonical = href
        if not _ALTERNATE_RELS.isdisjoint(kinds) and _NOT_ALTERNATE_RELS.isdisjoint(kinds):
            self.alternates.append(attributes)
        return not _HINT_RELS.isdisjoint(kinds)

    def image_text(self, link: LexborNode) -> str:
        """Return the label of the image in a link without text: the last image met, if it is inside the link."""
        node, wanted = self.image, link.mem_id  # comparing nodes would serialise both to HTML
        for _ in range(_DEEPEST):
            if node is None:
                break
            node = node.parent
            if node is not None and node.mem_id == wanted:
                return self.image_label
        return ""

    def add_meta(self, attributes: Attributes, agents: Collection[str]) -> None:
        """Record a ``<meta>``."""
        content = attributes.get("content")
        if not content:
            return
        name = attributes.get("name") or attributes.get("property")
        pragma = attributes.get("http-equiv")
        if pragma is not None and pragma.strip().lower() == "refresh":
            self.refresh = content
        name = pragma if name is None else name
        if name is None:
            return
        name = name.strip().lower()
        self.metas.append((name, content))
        if concerns(name, agents):
            self.robots.append(content)

    def all_metas(self) -> Mapping[str, tuple[str, ...]]:
        """Return the values of the first ``meta`` elements by name."""
        if not self.metas:
            return EMPTY
        found: dict[str, tuple[str, ...]] = {}
        for name, content in self.metas[: -MOST_METAS - 1 : -1]:
            if name and len(name) <= _LONGEST_NAME:
                found[name] = (*found.get(name, ()), content.strip()[:LONGEST_META])
        return found

    def all_alternates(self, base: Url) -> tuple[Alternate, ...]:
        """Return the alternate versions of the page: other languages, feeds, AMP."""
        return tuple(
            Alternate(
                url=url,
                language=(each.get("hreflang") or "").strip()[:_LONGEST_NAME],
                media_type=(each.get("type") or "").strip().lower()[:_LONGEST_NAME],
                title=words(each.get("title") or "", LONGEST_HEADING),
                rel="amphtml" if "amphtml" in (each.get("rel") or "").lower().split() else "alternate",
            )
            for each in self.alternates[: -MOST_ALTERNATES - 1 : -1]
            if (url := join(base, each.get("href") or "")) is not None
        )

    def declared_language(self, metas: Mapping[str, tuple[str, ...]]) -> str:
        """Return the declared language, such as ``en-GB``; empty if it is not a valid tag."""
        said = self.language or metas.get("content-language", ("",))[0].partition(",")[0]
        said = said.strip()
        return said.replace("_", "-") if said and _LANGUAGE.fullmatch(said) else ""


def separate(link: LexborNode, href: str, inline: Container[int]) -> None:
    """Put a space before a link if another link ends just there, as in menus: ``<a>Home</a><a>About</a>``.

    Either may be alone in text-level elements, such as ``<span>``, whose numbers are in ``inline``. Two links to one
    target may be two parts of a word.
    """
    anchor, node = link.tag_id, link
    for _ in range(_DEEPEST):
        before = _previous(node)
        if before is None:
            parent = node.parent
            if parent is None or parent.tag_id not in inline:
                return
            node = parent
            continue
        if before.tag_id not in inline:
            return
        last = _last_inside(before, anchor, inline)
        if last is not None:
            if last.tag_id == anchor and last.attributes.get("href") not in (None, href):
                link.insert_before(" ")
            return
        node = before  # it is empty


def _last_inside(node: LexborNode, anchor: int, inline: Container[int]) -> LexborNode | None:
    """Return the last link or text in a text-level element; ``None`` if it is empty."""
    found: LexborNode | None = node
    for _ in range(_DEEPEST):
        if found is None or found.tag_id == anchor or found.tag_id not in inline:
            break
        found = found.last_child
        if found is not None and found.tag_id in UNSEEN:
            found = _previous(found)
    return found


def _previous(node: LexborNode) -> LexborNode | None:
    """Return the sibling before a node; comments between them are removed."""
    before = node.prev
    while before is not None and before.tag_id in UNSEEN:
        before.decompose(False)
        before = node.prev
    return before


def name_of(node: LexborNode | None) -> str:
    return "" if node is None else node.tag or ""


def whole_text(tree: LexborHTMLParser) -> str:
    """Return the text of a tree after the walk has unwrapped its text-level elements."""
    body = tree.body
    if body is None:
        return ""
    text = body.text(separator=_BREAK, strip=True, skip_empty=True)
    for space in _SPACES:
        if space in text:
            text = text.replace(space, " ")
    if may_have_two_blanks(text):
        # One search instead of one for each run of spaces.
        pieces = text.split("  ")
        if len(pieces) > 1:
            text = " ".join([piece for part in pieces if (piece := part.strip(" "))])
    return text.replace(_BREAK, "\n").strip()


def words(text: str, longest: int) -> str:
    """Return a text on one line, truncated to ``longest`` characters."""
    text = text[: 4 * longest]  # saves work on a page that is one long title
    if not text.isprintable() or "  " in text:  # otherwise only single spaces separate words
        text = " ".join(text.split())
    return text.strip()[:longest]
