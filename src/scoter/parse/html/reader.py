"""Read an HTML page in one walk.

Lexbor builds the tree as a browser with scripts does, so that the content of a ``noscript`` is neither text nor markup.
One loop over its elements and comments in page order does the rest. So that a single call returns the text, the loop
unwraps text-level elements (``un<b>real</b>`` becomes one word) and removes comments and elements without text
(scripts, styles). Each of the others ends a line.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from scoter.core.page import Content, Outlink, Page, Refresh
from scoter.core.url import Url, join
from scoter.parse.encoding import decode_page
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
    UNSEEN,
    actions,
)
from scoter.parse.html.options import HtmlOptions
from scoter.parse.html.page_parts import PageParts, name_of, separate, whole_text, words
from scoter.parse.links import LinkJoiner
from scoter.parse.mediatype import CONTROLS, LANGUAGE, SNIFFED
from scoter.parse.prescan import shallow_part
from scoter.parse.robots_meta import directives
from scoter.parse.scripts import script_addresses

if TYPE_CHECKING:
    from scoter.parse.metadata import PageMetadataReader
from scoter.core.display import count
from scoter.parse.records import DecodedPage

MOST_LINKS: Final = 10_000
"""Links read from one page; a page with more was not made for readers."""
MOST_SCRIPT_LINKS: Final = 1_000
LONGEST_TITLE: Final = 1_000
LONGEST_ANCHOR: Final = 500
_ENOUGH: Final = 4 * LONGEST_ANCHOR  # characters searched for an anchor text, including white space
_ENOUGH_SCRIPT: Final = 262_144  # characters of scripts searched for addresses

_NUMBERS: Final = 256  # Lexbor's numbers of HTML elements are below; those of unknown elements are memory addresses
_NOTHING: Final = 255  # the action for elements that need none

_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value  # otherwise <selectedcontent> clones its option
_REPLACED: Final = "\ufffd".encode()


class HtmlReader:
    """Reads pages with the same options, one after another. Not thread-safe.

    >>> from scoter.core.url import canonical
    >>> body = b'<title>Seals</title><p>Grey <b>seal</b>s</p><p><a href="/more">More</a></p>'
    >>> page = HtmlReader().read(Content(url=canonical("http://a.example/x"), media_type="text/html", body=body))
    >>> page.title, page.text, page.outlinks[0].target, page.outlinks[0].anchor
    ('Seals', 'Grey seals\\nMore', Url('http://a.example/more'), 'More')
    """

    def __init__(self, options: HtmlOptions = HtmlOptions()) -> None:  # noqa: B008 - frozen
        self._options = options
        kinds, self._link_elements = actions(options)
        self._kinds = bytes([kinds.get(number, _NOTHING) for number in range(_NUMBERS)])
        self._within_text = UNSEEN.union(number for number, kind in kinds.items() if kind in (PIECE, ANCHOR))
        self._joiner = LinkJoiner()
        self._extras = {name: {options.element_name: name} for name in KINDS} if options.element_name else None
        self._about: PageMetadataReader | None = None
        if options.metadata:
            # The import takes 10 ms, and most crawls do not need it.
            from scoter.parse.metadata import MetadataOptions, PageMetadataReader

            self._about = PageMetadataReader(MetadataOptions.of_lines(options.metadata_order))

    def read(self, content: Content) -> Page:
        """Read a page; any bytes give a result."""
        options = self._options
        url = content.url
        source = decode_page(content.body, content.encoding, options.default_encoding)
        markup = shallow_part(source.utf8)
        tree = LexborHTMLParser(markup, options=_OPTIONS, scripting=True)
        about = None
        if self._about is not None:
            language = content.metadata.get(LANGUAGE, "")
            about = self._about.read(
                tree, url, self._base(tree, url), header_language=language, encoding=source.encoding
            )
        parts = PageParts()
        self._walk(tree, parts)
        if source.encoding != "utf-8":
            parts.encode_queries(source.encoding)
        base = (parts.base and join(url, parts.base)) or url
        said = directives(parts.robots, content.robots, options.agents)
        refresh = read_refresh(parts.refresh, base) if parts.refresh else None
        metas = parts.all_metas()
        main_text, markdown = self._main(markup, base, source.encoding) if options.main_content else ("", "")
        return Page(
            url=url,
            title=parts.title,
            text=whole_text(tree) if options.text else "",
            outlinks=self._outlinks(parts, base, refresh),
            noindex=said.noindex,
            nofollow=said.nofollow,
            noarchive=said.noarchive,
            nosnippet=said.nosnippet,
            unavailable_after=said.unavailable_after,
            canonical=None if parts.canonical is None else join(base, parts.canonical),
            refresh=refresh,
            base=None if base is url else base,
            encoding=source.encoding,
            language=parts.declared_language(metas),
            media_type=content.media_type,
            main_text=main_text,
            markdown=markdown,
            headings=parts.all_headings() if parts.headings else (),
            alternates=parts.all_alternates(base) if parts.alternates else (),
            metas=metas,
            about=about,
            doubt=doubt_about(
                content,
                source,
                MOST_LINKS if len(parts.links) > MOST_LINKS else 0,
                shallow=0 if markup is source.utf8 else len(markup),
            ),
        )

    def _walk(self, tree: LexborHTMLParser, parts: PageParts) -> None:
        """Visit each element once, from last to first, so that a script in a link is removed before the link is read.

        Unwrapped and removed elements stay in the list and are still visited.
        """
        root = tree.root
        if root is None:
            return
        kinds, inline, links = self._kinds, self._within_text, parts.links
        nodes = [*root.traverse()]  # all but texts
        nodes.reverse()
        for node in nodes:
            number: int = node.tag_id
            kind = kinds[number] if number < _NUMBERS else _NOTHING
            if kind == _NOTHING:
                continue
            if kind == PIECE:
                node.unwrap(True)
            elif kind == ANCHOR:  # more than half of all links: inlined for speed
                attributes = node.attributes
                href = attributes.get("href")
                if href is None:
                    href = attributes.get("xlink:href")
                if href is not None:
                    first = node.first_child
                    if first is None or (first.is_text_node and first.next is None):
                        text = node.text_lexbor()
                    else:  # blocks and line breaks separate words; adjacent text nodes do not
                        node.merge_text_nodes()
                        text = node.text(separator=" ")
                    # Otherwise only single spaces separate words.
                    if not text.isprintable() or "  " in text:
                        text = " ".join(text[:_ENOUGH].split())
                    text = text.strip() or parts.image_text(node)
                    rel = attributes.get("rel")
                    links.append((href, text[:LONGEST_ANCHOR], rel.lower() if rel else "", "a"))
                    beside = node.prev or node.parent
                    if beside is not None and beside.tag_id in inline:
                        separate(node, href, inline)
                node.unwrap(True)
            elif kind == OUT:
                node.decompose(False)
            elif kind == HEADING:
                parts.headings.append(node)
            elif kind >= LINK:
                self._link(node, number, kind, parts)
            else:
                self._rare(node, kind, parts)
        links.reverse()
        if tree.body is not None:
            tree.body.merge_text_nodes()

    def _link(self, node: LexborNode, number: int, kind: int, parts: PageParts) -> None:
        """Record the links of an element, the last one first, as the walk goes backwards."""
        attributes = node.attributes
        rel = attributes.get("rel")
        rel = rel.lower() if rel else ""
        if kind == REFERENCE and rel and parts.add_reference(rel, attributes):
            return
        if kind == SCRIPT and "src" not in attributes:
            parts.scripts.append(node.text_lexbor())
        label = attributes.get("alt") or attributes.get("title") or ""
        if label:
            label = words(label, LONGEST_ANCHOR)
            if kind == IMAGE:
                parts.image, parts.image_label = node, label
        element = self._link_elements.get(number)
        if element is None:
            return
        links, name = parts.links, element.name
        # As in Nutch: a GET request to the action of a POST form is rarely what the site expects.
        is_post = name == "form" and (attributes.get("method") or "").strip().lower() == "post"
        if kind == IMAGE and (srcset := attributes.get("srcset")):
            widest = largest(srcset)
            if widest and widest != attributes.get("src"):
                links.append((widest, label, "", name))
        for attribute in () if is_post else element.attributes:
            href = attributes.get(attribute)
            if href is not None:
                links.append((href, label, rel, name))
        if element.after == PIECE:
            node.unwrap(True)
        elif element.after == OUT:
            node.decompose(False)

    def _rare(self, node: LexborNode, kind: int, parts: PageParts) -> None:
        """Handle the elements that occur only a few times on a page."""
        if kind == META:
            parts.add_meta(node, self._options.agents)
        elif kind == TITLE:
            if name_of(node.parent) != "svg":
                parts.title = words(node.text_lexbor(), LONGEST_TITLE) or parts.title
        elif kind == BASE:
            href = node.attributes.get("href")
            parts.base = parts.base if href is None else href
        elif kind == ROOT:
            attributes = node.attributes
            parts.language = attributes.get("lang") or attributes.get("xml:lang") or ""

    def _base(self, tree: LexborHTMLParser, url: Url) -> Url:
        """Return the base URL of links: that of the first ``base`` element, which the walk may not have reached yet."""
        for node in () if tree.root is None else tree.root.css("base[href]"):
            attributes = node.attributes
            if "href" in attributes:  # the selector also matches an xlink:href in an svg
                return join(url, attributes["href"] or "") or url
        return url

    def _main(self, markup: bytes, base: Url, encoding: str) -> tuple[str, str]:
        from scoter.parse.main import main_content

        options = self._options
        main = main_content(markup, options.extractor, markdown=options.markdown, base=base, encoding=encoding)
        return main.text, main.markdown

    def _outlinks(self, parts: PageParts, base: Url, refresh: Refresh | None) -> tuple[Outlink, ...]:
        joined, extras = self._joiner.join, self._extras
        known = self._joiner.known(base)
        absolute = self._joiner.absolute
        outlinks = [
            Outlink(target=target, anchor=anchor, rel=rel, kind=KINDS[name])
            if extras is None
            else Outlink(target=target, anchor=anchor, rel=rel, kind=KINDS[name], extra=extras[name])
            for href, anchor, rel, name in parts.links[:MOST_LINKS]
            if (target := known.get(href) or absolute.get(href) or joined(base, href, known)) is not None
        ]
        if refresh is not None and not refresh.is_redirect:
            outlinks.append(Outlink(target=refresh.target, kind="refresh"))
        if parts.scripts:
            outlinks += self._script_links(parts.scripts, base, MOST_LINKS - len(outlinks))
        return tuple(outlinks)

    def _script_links(self, scripts: list[str], base: Url, most: int) -> list[Outlink]:
        """Return the addresses in the scripts of a page as links, each target once."""
        text = "\n".join(reversed(scripts))[:_ENOUGH_SCRIPT]
        addresses = dict.fromkeys(itertools.islice(script_addresses(text), MOST_SCRIPT_LINKS))
        targets = dict.fromkeys(target for address in addresses if (target := join(base, address)) is not None)
        return [Outlink(target=target, kind="text") for target in itertools.islice(targets, max(0, most))]


def doubt_about(
    content: Content, source: DecodedPage, most_links: int = 0, *, shallow: int = 0, markup: bool = True
) -> str:
    """Return the problems of a page that was read only in part, separated by semicolons; usually empty.

    ``most_links`` is how many links were read if the page has more, ``shallow`` how many bytes if the rest is
    nested too deeply. Pass ``markup=False`` for plain text.
    """
    utf8 = source.utf8
    said = []
    if content.truncated:
        said.append("truncated")
    if not utf8 or utf8.isspace():
        said.append("empty")
    elif markup and b"<" not in utf8:
        said.append("no markup")
    head = utf8[:SNIFFED]
    if len(head.translate(None, CONTROLS)) * 50 < len(head) * 49 or b"\0" in head:
        said.append("binary")
    if utf8 is not content.body:
        own = content.body.count(_REPLACED) if source.encoding == "utf-8" else 0
        replaced = utf8.count(_REPLACED) - own
        if replaced > 0:
            said.append(f"not valid {source.encoding}: {count(replaced, 'character')} replaced")
    if shallow:
        said.append(f"nested too deeply: only the first {shallow:,} bytes were read")
    if most_links:
        said.append(f"too many links: only the first {most_links:,} were read")
    return "; ".join(said)
