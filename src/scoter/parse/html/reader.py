"""Read an HTML page in one walk (``walk.py``)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from scoter.core.page import Content, Outlink, Page, Refresh
from scoter.core.url import Url, join
from scoter.parse.encoding import decode_page
from scoter.parse.html.attributes import read_refresh
from scoter.parse.html.elements import KINDS
from scoter.parse.html.headings import PageHeadings
from scoter.parse.html.options import HtmlOptions
from scoter.parse.html.page_parts import PageParts
from scoter.parse.html.walk import IS_NATIVE, PageWalk
from scoter.parse.links import LinkJoiner
from scoter.parse.mediatype import CONTROLS, LANGUAGE, SNIFFED
from scoter.parse.prescan import shallow_part
from scoter.parse.robots_meta import directives
from scoter.parse.scripts import script_addresses

if TYPE_CHECKING:
    from scoter.parse.main import MainContent
    from scoter.parse.metadata import PageMetadataReader
from scoter.core.display import count
from scoter.parse.records import DecodedPage

MOST_LINKS: Final = 10_000
"""Links read from one page; a page with more was not made for readers."""
MOST_SCRIPT_LINKS: Final = 1_000
_ENOUGH_SCRIPT: Final = 262_144  # characters of scripts searched for addresses

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

    def __init__(self, options: HtmlOptions = HtmlOptions(), native: bool = IS_NATIVE) -> None:  # noqa: B008 - frozen
        self._options = options
        self._walk = PageWalk(options, native).walk
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
        headings = PageHeadings()
        if b"mw-headline" in markup:
            headings.read_wiki(tree)
        text = self._walk(tree, parts, headings)
        if source.encoding != "utf-8":
            parts.encode_queries(source.encoding)
        base = (parts.base and join(url, parts.base)) or url
        said = directives(parts.robots, content.robots, options.agents)
        refresh = read_refresh(parts.refresh, base) if parts.refresh else None
        metas = parts.all_metas()
        main = self._main(markup, base, source.encoding) if options.main_content else None
        return Page(
            url=url,
            title=parts.title,
            text=text,
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
            main_text=main.text if main and options.main_text else "",
            markdown=main.markdown if main else "",
            main_text_kept=main.kept if main else None,
            main_text_doubtful=main.doubtful if main else None,
            headings=headings.headings() if headings.rows else (),
            sections=headings.sections() if headings.rows else (),
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

    def _base(self, tree: LexborHTMLParser, url: Url) -> Url:
        """Return the base URL of links: that of the first ``base`` element, which the walk may not have reached yet."""
        for node in () if tree.root is None else tree.root.css("base[href]"):
            attributes = node.attributes
            if "href" in attributes:  # the selector also matches an xlink:href in an svg
                return join(url, attributes["href"] or "") or url
        return url

    def _main(self, markup: bytes, base: Url, encoding: str) -> MainContent:
        from scoter.parse.main import main_content

        return main_content(markup, markdown=self._options.markdown, base=base, encoding=encoding)

    def _outlinks(self, parts: PageParts, base: Url, refresh: Refresh | None) -> tuple[Outlink, ...]:
        joined, extras = self._joiner.join, self._extras
        known = in_origin, in_folder = self._joiner.known(base)
        absolute = self._joiner.absolute
        outlinks = [
            Outlink(target=target, anchor=anchor, rel=rel, kind=KINDS[name])
            if extras is None
            else Outlink(target=target, anchor=anchor, rel=rel, kind=KINDS[name], extra=extras[name])
            for href, anchor, rel, name in parts.links[:MOST_LINKS]
            if (
                target := base
                if href[:1] == "#"
                else in_origin.get(href) or in_folder.get(href) or absolute.get(href) or joined(base, href, known)
            )
            is not None
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
