"""The feed parser: one page for the feed, and one for each entry with an address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import unescape
from typing import Final

from msgspec.structs import replace

from scoter.core.metadata import Author, Feed, Image, Media, PageMetadata
from scoter.core.page import Alternate, Content, Outlink, Page
from scoter.core.url import Url, join
from scoter.parse.feeds.entries import FeedEntry, FeedFound, Reference
from scoter.parse.feeds.jsonfeeds import read_json_feed
from scoter.parse.feeds.source import XmlSource
from scoter.parse.feeds.xmlfeeds import FEED_ROOTS, read_xml_feed
from scoter.parse.filetypes import type_by_extension
from scoter.parse.html import LONGEST_ANCHOR, LONGEST_TITLE, MOST_LINKS, HtmlReader
from scoter.parse.parsers import PageParser, metadata_from
from scoter.plugins import Setup

SOURCE: Final = "feed"
"""The source that a page's metadata name."""
_JSON: Final = "application/feed+json"
_LONGEST_DESCRIPTION: Final = 1_000
# An end tag or a common start tag. "Write &lt;b&gt;" may well be about HTML.
_ESCAPED_TAG: Final = re.compile(
    r"&lt;(?:/[a-z][a-z0-9]*|(?:p|br|div|img)(?:\s[^<>]{0,1000}?)?/?)\s*&gt;", re.IGNORECASE
)


class FeedParser(PageParser):
    """Reads RSS, Atom, RDF and JSON feeds."""

    media_types: tuple[str, ...] = (
        *("application/rss+xml", "application/atom+xml", _JSON, "application/rdf+xml", "application/x-rss+xml"),
        *("application/xml", "text/xml", "application/json"),
    )

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._most = setup.config.parse.entries
        self._reader = HtmlReader()

    def parse(self, content: Content) -> Sequence[Page]:
        found, encoding = _read_feed(content)
        if found is None:
            return ()
        return _Pages(self._page(content, encoding=encoding), found, self._reader).make(self._most)


def _read_feed(content: Content) -> tuple[FeedFound | None, str]:
    """Return the feed in a content, or ``None`` if it is not a feed, and its character encoding."""
    is_json = content.media_type in (_JSON, "application/json")
    if not is_json:
        source = XmlSource(content.body, content.encoding)
        if source.root in FEED_ROOTS:
            return read_xml_feed(source, most=MOST_LINKS), source.encoding
        is_json = content.body[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    return read_json_feed(content.body, content.encoding, most=MOST_LINKS) if is_json else None, "utf-8"


class _Pages:
    """Makes the pages of one feed."""

    def __init__(self, page: Page, feed: FeedFound, reader: HtmlReader) -> None:
        """``page`` has what all pages share; the server's robots directives for a feed apply to its entries."""
        self._shared = page
        self._url = page.url
        self._feed = feed
        self._reader = reader
        self._base = (feed.base and join(page.url, feed.base)) or page.url
        self._links: dict[str, Outlink] = {}

    def make(self, most: int) -> tuple[Page, ...]:
        """Return the feed's page and those of its first entries."""
        feed = self._feed
        title = self._line(feed.title)
        lines = [description := self._words(feed.description)[0]]
        below: dict[str, Page] = {}
        for entry in feed.entries:
            name = self._line(entry.title)
            url = self._join(entry.link)
            lines.append(name)
            if url is None or url.text == self._url.text:
                lines.append(self._words(entry.markup or entry.summary)[0])
            else:
                self._link(url, name)
                if len(below) < most and url.text not in below:
                    below[url.text] = self._entry(entry, url, name)
            for each in entry.enclosures:
                self._link(self._join(each.href), each.title, "media")
        home = self._join(feed.home)
        self._link(home, title, rel="alternate")
        for reference in feed.links:
            if reference.rel != "self":
                self._link(self._join(reference.href), reference.title, rel=reference.rel)
        own = next((url for each in feed.links if each.rel == "self" and (url := self._join(each.href))), None)
        page = replace(
            self._shared,
            title=title,
            text="\n".join(filter(None, lines)),
            outlinks=tuple(self._links.values()),
            language=feed.language,
            alternates=tuple(self._alternates(home)),
            canonical=own,
            about=self._about(title, description, own),
            doubt=feed.doubt,
        )
        return (page, *below.values())

    def _entry(self, entry: FeedEntry, url: Url, title: str) -> Page:
        # A base for the whole feed is often the site's, while the content is copied from the entry's own page.
        base = self._join(entry.base) if entry.markup and entry.base != self._feed.base else None
        text, links = self._words(entry.markup or entry.summary, base or url)
        has_both = entry.markup and entry.summary and entry.markup != entry.summary
        summary = self._words(entry.summary)[0] if has_both else text
        about = metadata_from(
            SOURCE,
            title=title,
            description=_short(summary),
            image=self._image(entry.image),
            canonical=url.text,
            site_name=self._line(self._feed.title),
            authors=self._authors(entry.authors or self._feed.authors),
            published=entry.published,
            modified=entry.modified,
            language=entry.language or self._feed.language,
            keywords=entry.keywords,
            media=tuple(self._media(entry.enclosures)),
        )
        language = entry.language or self._feed.language
        return replace(self._shared, url=url, title=title, text=text, outlinks=links, language=language, about=about)

    def _about(self, title: str, description: str, canonical: Url | None) -> PageMetadata:
        feed = self._feed
        terms = self._join(feed.license)
        return metadata_from(
            SOURCE,
            title=title,
            description=_short(description),
            canonical="" if canonical is None else canonical.text,
            site_name=title,
            image=self._image(feed.image),
            icon=self._image(feed.icon),
            authors=self._authors(feed.authors),
            modified=feed.modified,
            language=feed.language,
            type=SOURCE,
            keywords=feed.keywords,
            feeds=(Feed(url=self._url.text, media_type=self._shared.media_type, title=title),),
            license="" if terms is None else terms.text,
        )

    def _alternates(self, home: Url | None) -> Iterator[Alternate]:
        if home is not None:
            yield Alternate(url=home, media_type="text/html", language=self._feed.language)
        for each in self._feed.links:
            url = self._join(each.href)
            if each.rel == "alternate" and url is not None and (home is None or url.text != home.text):
                yield Alternate(url=url, media_type=each.media_type, language=each.language, title=each.title)

    def _link(self, target: Url | None, words: str, kind: str = "feed", rel: str = "") -> None:
        if target is not None and target.text != self._url.text and len(self._links) < MOST_LINKS:
            link = Outlink(target=target, anchor=words[:LONGEST_ANCHOR], rel=rel, kind=kind)
            self._links.setdefault(target.text, link)

    def _join(self, href: str) -> Url | None:
        return join(self._base, href) if href else None

    def _image(self, href: str) -> Image | None:
        url = self._join(href)
        return None if url is None else Image(url=url.text)

    def _authors(self, people: Iterable[Author]) -> tuple[Author, ...]:
        return tuple(
            Author(name=self._line(each.name), url=url.text if (url := self._join(each.url)) else "") for each in people
        )

    def _media(self, enclosures: Iterable[Reference]) -> Iterator[Media]:
        for each in enclosures:
            if (url := self._join(each.href)) is None:
                continue
            media_type = each.media_type or type_by_extension(url, textual=False)
            if (kind := media_type.partition("/")[0].lower()) in ("video", "audio"):
                yield Media(url=url.text, kind=kind, media_type=media_type, seconds=each.seconds)

    def _line(self, text: str) -> str:
        """Return a title or name as one line; many feeds put markup in it."""
        plain = self._words(text)[0] if "<" in text or "&" in text else text
        return " ".join(plain.split())[:LONGEST_TITLE]

    def _words(self, markup: str, base: Url | None = None) -> tuple[str, tuple[Outlink, ...]]:
        """Return the text and the links of a piece of markup, which some feeds escape twice."""
        if "<" not in markup and _ESCAPED_TAG.search(markup):
            markup = unescape(markup)
        if "<" not in markup and "&" not in markup:
            return "\n".join(filter(None, (" ".join(line.split()) for line in markup.splitlines()))), ()
        body = markup.encode("utf-8", "replace")
        page = self._reader.read(Content(url=base or self._base, media_type="text/html", body=body, encoding="utf-8"))
        return page.text, page.outlinks


def _short(text: str) -> str:
    return " ".join(text[: 4 * _LONGEST_DESCRIPTION].split())[:_LONGEST_DESCRIPTION]
