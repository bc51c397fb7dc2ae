"""What the walk over a page comes upon, and what is made of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

from selectolax.lexbor import LexborHTMLParser, LexborNode

from scoter.core.page import EMPTY, Alternate, Heading
from scoter.core.url import Url, join
from scoter.parse.encoding import encode_query
from scoter.parse.html.elements import HEADINGS
from scoter.parse.robots_meta import concerns
from scoter.parse.vectors import may_have_two_blanks

MOST_HEADINGS: Final = 200
LONGEST_HEADING: Final = 500
MOST_METAS: Final = 200
LONGEST_META: Final = 2_000
MOST_ALTERNATES: Final = 200
_LONGEST_NAME: Final = 200
_DEEPEST: Final = 8  # elements between a link and its image
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}")
# What themes write beside a heading for those who link to it or change it; MediaWiki does so in its reader's language.
_MARKS: Final = "¶🔗⚓\u200b"
_FIRSTS: Final = frozenset(f"{_MARKS}#")
_LASTS: Final = frozenset(f"{_MARKS}\ufe0f#§]")
_MARK_BEFORE: Final = re.compile(rf"[{_MARKS}]\ufe0f?\s*|#\s+")
_MARK_AFTER: Final = re.compile(
    rf"\s*[{_MARKS}]\ufe0f?$|\s+[#§]$|\s*\[\s*(?:edit|bearbeiten|modifier|modifica|editar|edytuj|bewerken|redigera|править"
    r"|редагувати|編集|编辑|編輯|편집|تعديل)\b[^\[\]]*\]$",
    re.IGNORECASE,
)
_OTHER_FORMS: Final = frozenset({"alternate", "amphtml"})
_NO_FORMS: Final = frozenset({"stylesheet", "icon"})
_HINTS: Final = frozenset({"dns-prefetch", "preconnect"})

RawLink: TypeAlias = tuple[str, str, str, str]  # href, anchor, rel, and the element's name
Attributes: TypeAlias = Mapping[str, str | None]


class PageParts:
    """What the walk has come upon; it goes backwards, so that the last word is the page's first."""

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
        self.headings: list[LexborNode] = []
        self.scripts: list[str] = []
        self.image: LexborNode | None = None
        self.image_label = ""

    def spell(self, encoding: str) -> None:
        """Write the queries of the page's links in its encoding."""
        self.links = [
            link if link[0].isascii() else (encode_query(link[0], encoding), link[1], link[2], link[3])
            for link in self.links
        ]
        if self.canonical is not None:
            self.canonical = encode_query(self.canonical, encoding)
        self.refresh = encode_query(self.refresh, encoding)
        self.alternates = [{**each, "href": encode_query(each.get("href") or "", encoding)} for each in self.alternates]

    def refer(self, rel: str, attributes: Attributes) -> bool:
        """Note what a ``<link>`` says about the page as a whole; tell whether it names a host and no document."""
        kinds = rel.split()
        if "canonical" in kinds and (href := attributes.get("href")):
            self.canonical = href
        if not _OTHER_FORMS.isdisjoint(kinds) and _NO_FORMS.isdisjoint(kinds):
            self.alternates.append(attributes)
        return not _HINTS.isdisjoint(kinds)

    def alternative(self, link: LexborNode) -> str:
        """Return what stands for the image that a link without words shows: the one met last, if it is in the link."""
        node, wanted = self.image, link.mem_id  # to compare two nodes would be to write both as HTML
        for _ in range(_DEEPEST):
            if node is None:
                break
            node = node.parent
            if node is not None and node.mem_id == wanted:
                return self.image_label
        return ""

    def meta(self, node: LexborNode, agents: Collection[str]) -> None:
        """Note what a ``<meta>`` says."""
        attributes = node.attributes
        content = attributes.get("content")
        if not content:
            return
        name = attributes.get("name") or attributes.get("property")
        pragma = attributes.get("http-equiv")
        # A page that only readers without scripts are sent away from is meant to be read.
        if pragma is not None and pragma.strip().lower() == "refresh" and name_of(node.parent) != "noscript":
            self.refresh = content
        if name is None:
            if pragma is None:
                return
            name = pragma
        name = name.strip().lower()
        self.metas.append((name, content))
        if concerns(name, agents):
            self.robots.append(content)

    def all_headings(self) -> tuple[Heading, ...]:
        """Return the first headings of the page; to be asked when the text of the tree is in order."""
        found = [
            Heading(HEADINGS[node.tag_id], text)
            for node in self.headings[: -MOST_HEADINGS - 1 : -1]
            if (text := _unmarked(words(_text(node), LONGEST_HEADING)))
        ]
        return tuple(found)

    def all_metas(self) -> Mapping[str, tuple[str, ...]]:
        """Return the values of the page's first ``meta`` elements by their names."""
        if not self.metas:
            return EMPTY
        found: dict[str, tuple[str, ...]] = {}
        for name, content in self.metas[: -MOST_METAS - 1 : -1]:
            if name and len(name) <= _LONGEST_NAME:
                found[name] = (*found.get(name, ()), content.strip()[:LONGEST_META])
        return found

    def all_alternates(self, base: Url) -> tuple[Alternate, ...]:
        """Return the other forms of the page: other languages, feeds, its AMP form."""
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

    def declared(self, metas: Mapping[str, tuple[str, ...]]) -> str:
        """Return the language that the page says it is in, such as ``en-GB``; nothing where that is no language."""
        said = self.language or metas.get("content-language", ("",))[0].partition(",")[0]
        said = said.strip()
        return said.replace("_", "-") if said and _LANGUAGE.fullmatch(said) else ""


def _text(node: LexborNode) -> str:
    """Return the text of an element, with blanks between its pieces; most have but one, which is there at once."""
    first = node.first_child
    if first is not None and first.is_text_node and first.next is None:
        return node.text_lexbor()
    return node.text(separator=" ")


def _unmarked(heading: str) -> str:
    """Return a heading without the signs beside it that are not part of it; next to none has any."""
    if heading[:1] in _FIRSTS and (before := _MARK_BEFORE.match(heading)):
        heading = heading[before.end() :]
    return _MARK_AFTER.sub("", heading) if heading[-1:] in _LASTS else heading


def name_of(node: LexborNode | None) -> str:
    return "" if node is None else node.tag or ""


_BREAK: Final = "\x1e"  # a control character that stands for the end of a line until white space is dealt with
_SPACES: Final = "\n\t\r\f\xa0"


def whole_text(tree: LexborHTMLParser) -> str:
    """Return the text that is left in a tree whose text-level elements have been taken apart."""
    body = tree.body
    if body is None:
        return ""
    body.merge_text_nodes()
    text = body.text(separator=_BREAK, strip=True, skip_empty=True)
    for space in _SPACES:
        if space in text:
            text = text.replace(space, " ")
    if may_have_two_blanks(text):
        # One search instead of one for each doubling and another for the end.
        pieces = text.split("  ")
        if len(pieces) > 1:
            text = " ".join([piece for part in pieces if (piece := part.strip(" "))])
    return text.replace(_BREAK, "\n").strip()


def words(text: str, longest: int) -> str:
    """Return the words of a text on one line, cut where they become too many."""
    text = text[: 4 * longest]  # which spares the work on a page that is one long title
    if not text.isprintable() or "  " in text:  # else the only white space is one blank between words
        text = " ".join(text.split())
    return text.strip()[:longest]
