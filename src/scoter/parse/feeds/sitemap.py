"""Sitemaps and sitemap indexes, plain and gzipped, and whatever else may be found at a sitemap's address.

Reading is lenient: namespaces may be wrong or missing, addresses relative, values invalid. What cannot be understood is
skipped, and what precedes an error in a broken file is kept. Sites also list their pages in feeds and in plain text
files (sitemaps.org); ``read_listing`` accepts all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from scoter.core.dates import parse_date
from scoter.core.display import count
from scoter.core.page import Content, Outlink, Page
from scoter.core.url import Url, join
from scoter.parse.encoding import decode_page
from scoter.parse.feeds.entries import FeedFound
from scoter.parse.feeds.source import MOST, ElementCounter, Unpacked, XmlSource, local, walk
from scoter.parse.feeds.xmlfeeds import FEED_ROOTS, read_xml_feed
from scoter.parse.html import MOST_LINKS
from scoter.parse.parsers import PageParser

ROOTS: Final = frozenset(("urlset", "sitemapindex"))
FREQUENCIES: Final = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
MOST_ENTRIES: Final = 50_000
"""Maximum entries of a sitemap, or sitemaps of an index (sitemaps.org, "Sitemap file location")."""
MOST_EXTRAS: Final = 100_000
"""Maximum alternates and media of all entries together."""
LONGEST: Final = 8_192
"""Maximum characters of a value; sitemaps.org allows 2,048 for an address."""

_ITEMS: Final = frozenset(("url", "sitemap"))
_VALUES: Final = frozenset(("loc", "lastmod", "changefreq", "priority"))
_MEDIA: Final = frozenset(("loc", "content_loc", "thumbnail_loc", "player_loc"))
_BARE: Final = "#text"  # the text of an item without elements
_ADDRESS: Final = re.compile(r"(?:https?:/)?/\S+", re.IGNORECASE)
_HOLDERS: Final = frozenset(("image", "video"))
_LINE: Final = re.compile(r"[^\r\n]++")


class SitemapAlternate(Struct, frozen=True):
    """The same page in another language."""

    language: str
    url: Url


class SitemapEntry(Struct, frozen=True, kw_only=True):
    """One page in a sitemap. ``changefreq`` is empty or one of ``FREQUENCIES``; ``priority`` is 0 to 1."""

    url: Url
    lastmod: datetime | None = None
    changefreq: str = ""
    priority: float | None = None
    alternates: tuple[SitemapAlternate, ...] = ()
    media: tuple[Url, ...] = ()


class Sitemap(Struct, frozen=True, kw_only=True):
    """The content of a sitemap: pages, or further sitemaps with their modification dates.

    ``not_urls`` counts entries with an invalid address; ``doubt`` says what is wrong with a file that could only be
    read in part.
    """

    entries: tuple[SitemapEntry, ...] = ()
    sitemaps: tuple[tuple[Url, datetime | None], ...] = ()
    not_urls: int = 0
    doubt: str = ""


def read_sitemap(source: XmlSource, base: Url, *, most: int = MOST_ENTRIES, extras: bool = True) -> Sitemap:
    """Return the content of a sitemap: at most ``most`` entries; ``extras`` includes alternates and media.

    >>> from scoter.core.url import canonical
    >>> body = b"<urlset><url><loc>http://a.example/x</loc><priority>0.8</priority></url></urlset>"
    >>> found = read_sitemap(XmlSource(body), canonical("http://a.example/sitemap.xml")).entries[0]
    >>> found.url, found.priority
    (Url('http://a.example/x'), 0.8)
    """
    found = _SitemapReader(source.root, base, most, extras)
    doubt = walk(source, found) if source.root else source.doubt
    if found.full:
        doubt = f"it has more than {count(most, 'entry', 'entries')}"
    return Sitemap(entries=tuple(found.entries), sitemaps=tuple(found.sitemaps), not_urls=found.not_urls, doubt=doubt)


class SitemapParser(PageParser):
    """Reads sitemaps: the page's links are the listed pages or sitemaps."""

    media_types: tuple[str, ...] = ("application/xml", "text/xml", "application/gzip", "application/x-gzip")

    def parse(self, content: Content) -> Sequence[Page]:
        source = XmlSource(content.body, content.encoding)
        if source.root not in ROOTS:
            return ()
        found = read_sitemap(source, content.url, most=MOST_LINKS)
        page = self._page(content, outlinks=_outlinks(found), encoding=source.encoding, doubt=found.doubt)
        return (page,)


def _outlinks(found: Sitemap) -> tuple[Outlink, ...]:
    """Return links to the listed pages first, because the number of links is limited."""
    listed = [*(url for url, _ in found.sitemaps), *(entry.url for entry in found.entries)]
    extras: dict[str, Outlink] = {}
    for entry in found.entries:
        for each in entry.alternates:
            extras.setdefault(each.url.text, Outlink(target=each.url, rel="alternate", kind="sitemap"))
        for url in entry.media:
            extras.setdefault(url.text, Outlink(target=url, kind="media"))
    for url in listed:
        extras.pop(url.text, None)
    return (*(Outlink(target=url, kind="sitemap") for url in listed), *extras.values())[:MOST_LINKS]


class _SitemapReader:
    """Collects the items of a sitemap.

    Elements may be missing, unclosed or nested wrongly, so an item is not what one element contains. It ends with its
    element, where the next one begins, or at a second ``loc``.
    """

    def __init__(self, root: str, base: Url, most: int, extras: bool) -> None:
        self.entries: list[SitemapEntry] = []
        self.sitemaps: list[tuple[Url, datetime | None]] = []
        self.not_urls = 0
        self.full = False
        self._usual = "sitemap" if root == "sitemapindex" else "url"
        self._base = base
        self._depth = ElementCounter()
        self._most = most
        self._extras_left = MOST_EXTRAS if extras else 0
        self._above: list[str] = []
        self._kind = ""  # of the open item
        self._values: dict[str, str] = {}
        self._alternates: list[SitemapAlternate] = []
        self._media: list[Url] = []
        self._name = ""  # of the value that is being read
        self._text: list[str] = []
        self._length = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = local(tag)
        self._depth.check(len(self._above))
        above = self._above[-1] if self._above else ""
        self._above.append(name)
        if name in _ITEMS:
            if self._name != "loc":  # an item in an address is a mistake for the address itself
                # The outer one of two different items tells the kind.
                self._open(self._kind if above in _ITEMS and above != name and "loc" not in self._values else name)
        elif above in _HOLDERS:
            if name in _MEDIA:
                self._read(name)
        elif name in _VALUES:
            self._end_value()
            if name == "loc" and (not self._kind or name in self._values):
                self._open(self._kind or self._usual)
            self._read(name)
        elif name == "link" and above == "url" and len(attributes):
            self._alternate({local(key): value for key, value in attributes.items()})

    def data(self, text: str) -> None:
        if self._name and self._length < LONGEST:
            self._length += len(text)
            self._text.append(text)

    def end(self, tag: str) -> None:
        if not self._above:
            return
        name = self._above.pop()
        above = self._above[-1] if self._above else ""
        if name in _ITEMS:
            self._end_value()
            if above != "loc":
                if _ADDRESS.fullmatch(bare := self._values.pop(_BARE, "")):
                    self._values.setdefault("loc", bare)
                self._close()
        elif name == self._name:
            if above in _HOLDERS:
                self._end_media()
            else:
                self._end_value()

    def close(self) -> None:
        """End the walk: an item that has not ended is kept if its address is complete."""
        self._name = ""
        if "loc" in self._values:
            self._close()

    def _open(self, kind: str) -> None:
        if "loc" in self._values:
            self._close()
        self._kind, self._values, self._alternates, self._media = kind, {}, [], []
        self._read(_BARE)

    def _close(self) -> None:
        """Add the open item, if there is one."""
        kind, self._kind = self._kind, ""
        if kind and not self.full:
            self._item(kind)
        self._values = {}

    def _read(self, name: str) -> None:
        self._name, self._text, self._length = name, [], 0

    def _end_value(self) -> None:
        name, self._name = self._name, ""
        if name:
            self._values.setdefault(name, "".join(self._text).strip())

    def _end_media(self) -> None:
        self._name = ""
        text = "".join(self._text).strip()
        if text and self._extras_left > 0 and (url := join(self._base, text)) is not None:
            self._extras_left -= 1
            self._media.append(url)

    def _alternate(self, said: Mapping[str, str]) -> None:
        if self._extras_left <= 0 or "alternate" not in said.get("rel", "").lower().split():
            return
        href = said.get("href", "")[:LONGEST].strip()
        if href and (url := join(self._base, href)) is not None:
            self._extras_left -= 1
            self._alternates.append(SitemapAlternate(said.get("hreflang", "").strip()[:35], url))

    def _item(self, name: str) -> None:
        values = self._values
        text = values.get("loc", "")
        url = join(self._base, text) if text and len(text) <= LONGEST else None
        if url is None:
            self.not_urls += 1
            return
        if len(self.entries) + len(self.sitemaps) >= self._most:
            self.full = True
            return
        changed = parse_date(values.get("lastmod", ""))
        if name == "sitemap":
            self.sitemaps.append((url, changed))
            return
        frequency = values.get("changefreq", "").lower()
        entry = SitemapEntry(
            url=url,
            lastmod=changed,
            changefreq=frequency if frequency in FREQUENCIES else "",
            priority=_priority(values.get("priority", "")),
            alternates=tuple(self._alternates),
            media=tuple(self._media),
        )
        self.entries.append(entry)


def _priority(text: str) -> float | None:
    try:
        found = float(text[:40].replace(",", "."))  # some write a decimal comma
    except ValueError:
        return None
    return min(max(found, 0.0), 1.0) if found == found else None


def read_listing(
    body: bytes, base: Url, *, charset: str = "", most: int = MOST_ENTRIES, size: int = MOST, cut: bool = False
) -> Sitemap | None:
    """Return the pages that a sitemap, feed or text file lists, or ``None`` if it is none of them.

    ``cut`` means that the file was truncated.

    >>> from scoter.core.url import canonical
    >>> found = read_listing(b"http://a.example/x", canonical("http://a.example/sitemap.txt"))
    >>> found and found.entries[0].url
    Url('http://a.example/x')
    """
    source = XmlSource(body, charset, most=size)
    if source.root in FEED_ROOTS:
        feed = read_xml_feed(source, most=most)
        return None if feed is None or (source.root == "rdf" and not feed.entries) else _of_feed(feed, base)
    if source.root:
        found = read_sitemap(source, base, most=most, extras=False)
        # Many servers answer with an HTML page if there is no sitemap.
        return found if source.root in ROOTS or found.entries or found.sitemaps else None
    return _of_lines(Unpacked(body, size), charset, base, most, cut)


def _of_feed(feed: FeedFound, base: Url) -> Sitemap:
    base = (feed.base and join(base, feed.base)) or base
    urls = [(entry, join(base, entry.link)) for entry in feed.entries if entry.link]
    entries = tuple(
        SitemapEntry(url=url, lastmod=max(filter(None, (entry.published, entry.modified)), default=None))
        for entry, url in urls
        if url is not None
    )
    return Sitemap(entries=entries, not_urls=len(urls) - len(entries), doubt=feed.doubt)


def _of_lines(file: Unpacked, charset: str, base: Url, most: int, cut: bool) -> Sitemap | None:
    """Return the addresses in a text file, each on its own line; ``None`` if it has none."""
    text = decode_page(b"".join(file.pieces()), charset, "utf-8", markup=False).utf8.decode("utf-8", "replace")
    doubt = file.doubt or ("its end is missing" if cut else "")
    if doubt:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]  # a truncated address would be that of another page
    entries: list[SitemapEntry] = []
    not_urls = 0
    for line in _LINE.finditer(text):
        address = line[0].strip("\ufeff \t")[: LONGEST + 1]
        if not address:
            continue
        is_whole = address[:8].lower().startswith(("http://", "https://")) and len(address) <= LONGEST
        url = join(base, address) if is_whole else None
        if url is None:
            not_urls += 1
        elif len(entries) < most:
            entries.append(SitemapEntry(url=url))
        else:
            doubt = f"it has more than {count(most, 'entry', 'entries')}"
            break
    return Sitemap(entries=tuple(entries), not_urls=not_urls, doubt=doubt) if entries else None
