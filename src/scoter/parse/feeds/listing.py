"""Whatever may stand where a sitemap is (sitemaps.org): a sitemap, a feed, or a text with an address a line.

Of a feed only addresses and dates are wanted, and they are read by the same walk as a sitemap: its time is linear,
which nobody promises of the libraries that read all of a feed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from scoter.core.display import count
from scoter.core.url import Url, join
from scoter.parse.encoding import decoded
from scoter.parse.feeds.moments import moment
from scoter.parse.feeds.sitemap import LONGEST, MOST_ENTRIES, Entry, Sitemap, read_source
from scoter.parse.feeds.sitemap import ROOTS as SITEMAPS
from scoter.parse.feeds.source import MOST, Depth, Unpacked, XmlSource, local, walk
from scoter.parse.feeds.xmlfeeds import ROOTS as FEEDS

_LINE: Final = re.compile(r"[^\r\n]++")
_ITEMS: Final = frozenset(("item", "entry"))
_DATES: Final = ("pubdate", "published", "issued", "updated", "modified", "date")
_WANTED: Final = frozenset((*_DATES, "link", "guid"))


def read_listing(
    body: bytes, base: Url, *, charset: str = "", most: int = MOST_ENTRIES, size: int = MOST, cut: bool = False
) -> Sitemap | None:
    """Return the pages that a file lists, or nothing if it is no such list; ``cut`` tells that its end is missing.

    >>> from scoter.core.url import canonical
    >>> found = read_listing(b"http://a.example/x", canonical("http://a.example/sitemap.txt"))
    >>> found and found.entries[0].url
    Url('http://a.example/x')
    """
    source = XmlSource(body, charset, most=size)
    if source.root in FEEDS:
        return _of_feed(source, base, most)
    if source.root:
        found = read_source(source, base, most=most, beside=False)
        # A page of HTML is what many servers answer with when there is no sitemap.
        return found if source.root in SITEMAPS or found.entries or found.sitemaps else None
    return _of_lines(Unpacked(body, size), charset, base, most, cut)


def _of_feed(source: XmlSource, base: Url, most: int) -> Sitemap | None:
    found = _Items(base, most)
    doubt = walk(source, found)
    if source.root == "rdf" and not found.entries:
        return None
    if found.full:
        doubt = f"it has more than {count(most, 'entry', 'entries')}"
    return Sitemap(entries=tuple(found.entries), not_urls=found.not_urls, doubt=doubt)


class _Items:
    """Collects the addresses of a feed's entries, each with its last date."""

    def __init__(self, base: Url, most: int) -> None:
        self.entries: list[Entry] = []
        self.not_urls = 0
        self.full = False
        self._base = base
        self._most = most
        self._depth = Depth()
        self._above: list[str] = []
        self._values: dict[str, str] = {}
        self._text: list[str] = []
        self._length = 0
        self._permanent = True

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth.check(len(self._above))
        name = local(tag)
        above = self._above[-1] if self._above else ""
        self._above.append(name)
        self._text, self._length = [], 0
        if name in _ITEMS:
            self._values = {}
        said = {local(key): value for key, value in attributes.items()} if len(attributes) else {}
        if len(self._above) == 1 and "base" in said:
            self._base = join(self._base, said["base"]) or self._base
        elif name == "guid":
            self._permanent = said.get("ispermalink", "").strip().lower() != "false"
        elif name == "link" and above in _ITEMS and said.get("rel", "alternate").lower() == "alternate":
            self._values["link"] = self._values.get("link") or said.get("href", "")

    def data(self, text: str) -> None:
        if self._length < LONGEST:
            self._length += len(text)
            self._text.append(text)

    def end(self, tag: str) -> None:
        if not self._above:
            return
        name = self._above.pop()
        above = self._above[-1] if self._above else ""
        text, self._text = "".join(self._text).strip(), []
        if above in _ITEMS and name in _WANTED and (name != "guid" or self._is_address(text)):
            self._values[name] = self._values.get(name) or text
        elif name in _ITEMS and not self.full:
            self._item(self._values)

    def close(self) -> None:
        """End the walk; what was begun and not ended does not count."""

    def _is_address(self, guid: str) -> bool:
        """Tell whether an entry's identifier is its address (RSS 2.0: it is, unless it says otherwise)."""
        return self._permanent and guid[:8].lower().startswith(("http://", "https://"))

    def _item(self, values: Mapping[str, str]) -> None:
        text = values.get("link") or values.get("guid", "")
        if not text:
            return
        url = join(self._base, text) if len(text) <= LONGEST else None
        if url is None:
            self.not_urls += 1
        elif len(self.entries) >= self._most:
            self.full = True
        else:
            dates = [found for name in _DATES if (found := moment(values.get(name, ""))) is not None]
            self.entries.append(Entry(url=url, lastmod=max(dates, default=None)))


def _of_lines(file: Unpacked, charset: str, base: Url, most: int, cut: bool) -> Sitemap | None:
    """Return the addresses of a text; a text whose first line is none lists nothing."""
    text = decoded(b"".join(file.pieces()), charset, "utf-8", markup=False).utf8.decode("utf-8", "replace")
    doubt = file.doubt or ("its end is missing" if cut else "")
    if doubt:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]  # half an address is that of another page
    entries: list[Entry] = []
    not_urls = 0
    for line in _LINE.finditer(text):
        address = line[0].strip("\ufeff \t")[: LONGEST + 1]
        if not address:
            continue
        is_whole = address[:8].lower().startswith(("http://", "https://")) and len(address) <= LONGEST
        url = join(base, address) if is_whole else None
        if url is not None and len(entries) >= most:
            return Sitemap(
                entries=tuple(entries), not_urls=not_urls, doubt=f"it has more than {count(most, 'entry', 'entries')}"
            )
        if url is not None:
            entries.append(Entry(url=url))
        elif not entries:
            return None
        else:
            not_urls += 1
    return Sitemap(entries=tuple(entries), not_urls=not_urls, doubt=doubt) if entries else None
