"""An HTML page in one walk.

Lexbor builds the tree; a selector lists its elements in the order of the page, and one loop over that list does the
rest. To get the text by a single call, the loop takes text-level elements apart as it goes (``un<b>real</b>`` becomes
one word), takes out what is not text (scripts, styles), and leaves the others, which end a line each.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborCSSSelector, LexborDocumentOptions, LexborHTMLParser, LexborNode

from scoter.core.page import Content, Outlink, Page, Refresh
from scoter.core.url import Url, join
from scoter.parse.encoding import decoded
from scoter.parse.html.attributes import largest, read_refresh
from scoter.parse.html.elements import (
    ANCHOR,
    BASE,
    HEADING,
    IMAGE,
    KINDS,
    LINK,
    META,
    OUT,
    PIECE,
    REFERENCE,
    ROOT,
    SCRIPT,
    TITLE,
    UNHEARD,
    actions,
)
from scoter.parse.html.options import HtmlOptions
from scoter.parse.html.page_parts import PageParts, name_of, whole_text, words
from scoter.parse.links import LinkJoiner
from scoter.parse.mediatype import LANGUAGE
from scoter.parse.prescan import without_comments
from scoter.parse.robots_meta import directives

if TYPE_CHECKING:
    from scoter.parse.metadata import PageMetadataReader
from scoter.core.display import count
from scoter.parse.records import DecodedPage

MOST_LINKS: Final = 10_000
"""Links that are read of one page; a page with more is no page for readers."""
MOST_SCRIPT_LINKS: Final = 1_000
LONGEST_TITLE: Final = 1_000
LONGEST_ANCHOR: Final = 500
_ENOUGH: Final = 4 * LONGEST_ANCHOR  # characters in which an anchor is looked for, white space included
_ENOUGH_SCRIPT: Final = 262_144  # characters of a page's scripts in which addresses are looked for

_NUMBERS: Final = 256  # Lexbor's, of the elements of HTML, are below; those that pages make up are addresses
_NOTHING: Final = 255  # is to be done

_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value  # else <selectedcontent> clones, for nobody here


class HtmlReader:
    """Reads pages by the same options, one after another; not to be shared among threads."""

    def __init__(self, options: HtmlOptions = HtmlOptions()) -> None:  # noqa: B008 - frozen
        self._options = options
        kinds, self._places = actions(options)
        self._kinds = bytes([kinds.get(number, _NOTHING) for number in range(_NUMBERS)])
        self._joiner = LinkJoiner()
        self._selector = LexborCSSSelector()  # type: ignore[no-untyped-call]
        self._extras = {name: {options.element_name: name} for name in KINDS} if options.element_name else None
        self._about: PageMetadataReader | None = None
        if options.metadata:
            from scoter.parse.metadata import (  # 10 ms that most crawls need not spend
                MetadataOptions,
                PageMetadataReader,
            )

            self._about = PageMetadataReader(MetadataOptions.of_lines(options.metadata_order))

    def read(self, content: Content) -> Page:
        """Return what a page says; whatever its bytes are, it says something."""
        options = self._options
        url = content.url
        source = decoded(content.body, content.encoding, options.default_encoding)
        markup = without_comments(source.utf8)
        tree = LexborHTMLParser(markup, options=_OPTIONS)
        about = None
        if self._about is not None:
            language = content.metadata.get(LANGUAGE, "")
            about = self._about.read(
                tree, url, self._base(tree, url), header_language=language, encoding=source.encoding
            )
        found = PageParts()
        self._walk(tree, found)
        if source.encoding != "utf-8":
            found.spell(source.encoding)
        base = (found.base and join(url, found.base)) or url
        said = directives(found.robots, content.robots, options.agents)
        refresh = read_refresh(found.refresh, base) if found.refresh else None
        metas = found.all_metas()
        main_text, markdown = self._main(markup, base, source.encoding) if options.main_content else ("", "")
        return Page(
            url=url,
            title=found.title,
            text=whole_text(tree) if options.text else "",
            outlinks=self._outlinks(found, base, refresh),
            noindex=said.noindex,
            nofollow=said.nofollow,
            noarchive=said.noarchive,
            nosnippet=said.nosnippet,
            unavailable_after=said.unavailable_after,
            canonical=None if found.canonical is None else join(base, found.canonical),
            refresh=refresh,
            base=None if base is url else base,
            encoding=source.encoding,
            language=found.declared(metas),
            media_type=content.media_type,
            main_text=main_text,
            markdown=markdown,
            headings=found.all_headings() if found.headings else (),
            alternates=found.all_alternates(base) if found.alternates else (),
            metas=metas,
            about=about,
            doubt=doubt_about(content, source, MOST_LINKS if len(found.links) > MOST_LINKS else 0),
        )

    def _walk(self, tree: LexborHTMLParser, found: PageParts) -> None:
        """Go over the elements once, from the last to the first: a script in a link is out before the link is read.

        What is taken apart or out stays in the list and is still looked at, such as the links in a ``noscript``.
        """
        root = tree.root
        if root is None:
            return
        kinds, links = self._kinds, found.links
        nodes = self._selector.find(UNHEARD, root)
        nodes.reverse()
        for node in nodes:
            number: int = node.tag_id
            kind = kinds[number] if number < _NUMBERS else _NOTHING
            if kind == _NOTHING:
                continue
            if kind == PIECE:
                node.unwrap(True)
            elif kind == ANCHOR:  # half of a page's links and more: here, to save calls
                attributes = node.attributes
                href = attributes.get("href")
                if href is None:
                    href = attributes.get("xlink:href")
                if href is not None:
                    first = node.first_child
                    if first is None or (first.is_text_node and first.next is None):
                        text = node.text_lexbor()
                    else:  # maybe blocks and line breaks, which part words, beside pieces of text, which do not
                        node.merge_text_nodes()
                        text = node.text(separator=" ")
                    # Otherwise its only white space is one blank between words.
                    if not text.isprintable() or "  " in text:
                        text = " ".join(text[:_ENOUGH].split())
                    text = text.strip() or found.alternative(node)
                    rel = attributes.get("rel")
                    links.append((href, text[:LONGEST_ANCHOR], rel.lower() if rel else "", "a"))
                node.unwrap(True)
            elif kind == OUT:
                node.decompose(False)
            elif kind == HEADING:
                found.headings.append(node)
            elif kind >= LINK:
                self._link(node, number, kind, found)
            else:
                self._rare(node, kind, found)
        links.reverse()

    def _link(self, node: LexborNode, number: int, kind: int, found: PageParts) -> None:
        """Note the links of an element, the last of them first, as the walk goes."""
        attributes = node.attributes
        rel = attributes.get("rel")
        rel = rel.lower() if rel else ""
        if kind == REFERENCE and rel and found.refer(rel, attributes):
            return
        if kind == SCRIPT and "src" not in attributes:
            found.scripts.append(node.text_lexbor())
        label = attributes.get("alt") or attributes.get("title") or ""
        if label:
            label = words(label, LONGEST_ANCHOR)
            if kind == IMAGE:
                found.image, found.image_label = node, label
        place = self._places.get(number)
        if place is None:
            return
        links, name = found.links, place.name
        if kind == IMAGE and (srcset := attributes.get("srcset")):
            widest = largest(srcset)
            if widest and widest != attributes.get("src"):
                links.append((widest, label, "", name))
        for attribute in place.attributes:
            href = attributes.get(attribute)
            if href is not None:
                links.append((href, label, rel, name))
        if place.after == PIECE:
            node.unwrap(True)
        elif place.after == OUT:
            node.decompose(False)

    def _rare(self, node: LexborNode, kind: int, found: PageParts) -> None:
        """Do with an element what is done a few times on a page."""
        if kind == META:
            found.meta(node, self._options.agents)
        elif kind == TITLE:
            if name_of(node.parent) != "svg":
                found.title = words(node.text_lexbor(), LONGEST_TITLE) or found.title
        elif kind == BASE:
            href = node.attributes.get("href")
            found.base = found.base if href is None else href
        elif kind == ROOT:
            attributes = node.attributes
            found.language = attributes.get("lang") or attributes.get("xml:lang") or ""

    def _base(self, tree: LexborHTMLParser, url: Url) -> Url:
        """Return what links are relative to, before the walk has come upon it."""
        for node in () if tree.root is None else tree.root.css("base[href]"):
            attributes = node.attributes
            if "href" in attributes:  # the selector is content with an xlink:href in an svg
                return join(url, attributes["href"] or "") or url
        return url

    def _main(self, markup: bytes, base: Url, encoding: str) -> tuple[str, str]:
        from scoter.parse.main import main_content

        options = self._options
        found = main_content(markup, options.extractor, markdown=options.markdown, base=base, encoding=encoding)
        return found.text, found.markdown

    def _outlinks(self, found: PageParts, base: Url, refresh: Refresh | None) -> tuple[Outlink, ...]:
        joined, extras = self._joiner.join, self._extras
        known = self._joiner.known(base)
        absolute = self._joiner.absolute
        outlinks = [
            Outlink(target=target, anchor=anchor, rel=rel, kind=KINDS[name])
            if extras is None
            else Outlink(target=target, anchor=anchor, rel=rel, kind=KINDS[name], extra=extras[name])
            for href, anchor, rel, name in found.links[:MOST_LINKS]
            if (target := known.get(href) or absolute.get(href) or joined(base, href, known)) is not None
        ]
        if refresh is not None and not refresh.is_redirect:
            outlinks.append(Outlink(target=refresh.target, kind="refresh"))
        if found.scripts:
            outlinks += self._script_links(found.scripts, base, MOST_LINKS - len(outlinks))
        return tuple(outlinks)

    def _script_links(self, scripts: list[str], base: Url, most: int) -> list[Outlink]:
        """Return the addresses in the scripts of a page, each once."""
        from scoter.parse.scripts import script_addresses  # which reads options of ours

        text = "\n".join(reversed(scripts))[:_ENOUGH_SCRIPT]
        found = dict.fromkeys(itertools.islice(script_addresses(text), MOST_SCRIPT_LINKS))
        targets = dict.fromkeys(target for address in found if (target := join(base, address)) is not None)
        return [Outlink(target=target, kind="text") for target in itertools.islice(targets, max(0, most))]


def parse_html(content: Content, options: HtmlOptions = HtmlOptions()) -> Page:  # noqa: B008 - frozen
    """Return what an HTML page says.

    >>> from scoter.core.url import canonical
    >>> body = b'<title>Seals</title><p>Grey <b>seal</b>s</p><p><a href="/more">More</a></p>'
    >>> page = parse_html(Content(url=canonical("http://a.example/x"), media_type="text/html", body=body))
    >>> page.title, page.text, page.outlinks[0].target, page.outlinks[0].anchor
    ('Seals', 'Grey seals\\nMore', Url('http://a.example/more'), 'More')
    """
    return HtmlReader(options).read(content)


_HEAD: Final = 1_445
"""Bytes that tell a text from other things (MIME Sniffing standard, 5.2)."""
_BINARY: Final = bytes([*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_REPLACED: Final = "\ufffd".encode()


def doubt_about(content: Content, source: DecodedPage, most_links: int = 0, *, markup: bool = True) -> str:
    """Return what is to be said about a page, in a few words each; most often nothing.

    ``most_links`` is how many of its links were read where it has more; ``markup`` is off for plain text.
    """
    utf8 = source.utf8
    said = []
    if content.truncated:
        said.append("truncated")
    if not utf8 or utf8.isspace():
        said.append("empty")
    elif markup and b"<" not in utf8:
        said.append("no markup")
    head = utf8[:_HEAD]
    if len(head.translate(None, _BINARY)) * 50 < len(head) * 49 or b"\0" in head:
        said.append("binary")
    if utf8 is not content.body:
        own = content.body.count(_REPLACED) if source.encoding == "utf-8" else 0
        replaced = utf8.count(_REPLACED) - own
        if replaced > 0:
            said.append(f"not valid {source.encoding}: {count(replaced, 'character')} replaced")
    if most_links:
        said.append(f"too many links: the first {most_links:,} are read")
    return "; ".join(said)
