"""RSS, Atom and RDF feeds, read in one pass over the text.

Many feeds are not well-formed XML: HTML is not escaped, elements are not closed, prefixes are not declared. So this
reader nests elements the way browsers do: an end tag closes the nearest open element of its name, and is ignored if
there is none. Its time is linear in the size of the feed. ``source`` has already removed the document's declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from html import escape, unescape
from typing import Final
from urllib.parse import urljoin

from msgspec.structs import replace

from scoter.core.dates import parse_date, parse_duration
from scoter.core.display import count
from scoter.core.metadata import Author
from scoter.parse.feeds import entries
from scoter.parse.feeds.entries import MOST_PER_ENTRY, FeedEntry, FeedFound, Reference, address_of, is_web_address
from scoter.parse.feeds.source import DEEPEST, MOST_ELEMENTS, XmlSource

FEED_ROOTS: Final = frozenset(("rss", "feed", "rdf", "channel"))
ITEMS: Final = frozenset(("item", "entry"))
_MOST_NAMES: Final = 1_000
_LONGEST_NAMESPACE: Final = 200

# An element that holds only text is one token. Every alternative ends at the next "<", or at the end mark of a section
# that is not searched twice, and no repetition backtracks, so the time is linear.
_TOKEN: Final = re.compile(
    r"<(?P<start>[A-Za-z_][^\s<>/]*+)(?P<attributes>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+|[^<>]*+)>"
    r"(?:(?P<leaf>[^<]*+|\s*+<!\[CDATA\[(?>.*?\]\]>)\s*+)</(?P=start)\s*+>)?"
    r"|</(?P<end>[^\s<>]++)[^<>]*+>"
    r"|<!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)"
    r"|(?P<text>[^<]++|<)",
    re.DOTALL,
)
# A name without a value matches too: otherwise each of its characters would start another search for "=".
_ATTRIBUTE: Final = re.compile(
    r"([^\s=<>\"'/]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'<>]++)))?+",
)
_MAILED: Final = re.compile(r"[^\s@]+@[^\s@]+\s*\(([^()]+)\)")  # RSS 2.0: lawyer@boyer.net (Lawyer Boyer)
# The prefix that this module uses for a namespace, whatever prefix the feed uses.
_NAMESPACES: Final = {
    namespace: prefix
    for prefix, namespaces in {
        "dc": ("purl.org/dc/elements/1.1", "purl.org/dc/elements/1.0"),
        "dcterms": ("purl.org/dc/terms",),
        "content": ("purl.org/rss/1.0/modules/content",),
        "media": ("search.yahoo.com/mrss", "tools.search.yahoo.com/mrss", "video.search.yahoo.com/mrss"),
        "itunes": ("www.itunes.com/dtds/podcast-1.0.dtd", "example.com/dtds/podcast-1.0.dtd"),
        "cc": ("backend.userland.com/creativecommonsrssmodule", "web.resource.org/cc", "creativecommons.org/ns"),
        "xhtml": ("www.w3.org/1999/xhtml",),
        "": (
            *("www.w3.org/2005/atom", "purl.org/atom/ns", "purl.org/rss/1.0", "my.netscape.com/rdf/simple/0.9"),
            *("backend.userland.com/rss2", "backend.userland.com/rss", "backend.userland.com/rss091"),
            *("blogs.law.harvard.edu/tech/rss", "cyber.law.harvard.edu/rss", "purl.org/net/rss1.1"),
        ),
        "rdf": ("www.w3.org/1999/02/22-rdf-syntax-ns",),
    }.items()
    for namespace in namespaces
}
_UNDECLARED: Final = {"atom": "", "rss": "", "creativecommons": "cc"}
"""Further prefixes that are recognised even if undeclared."""

_TITLES: Final = ("title", "dc:title", "media:title", "itunes:title")
_FEED_SUMMARIES: Final = ("subtitle", "tagline", "description", "dc:description", "itunes:summary", "itunes:subtitle")
_SUMMARIES: Final = ("summary", "description", "itunes:summary", "media:description", "dc:description")
_CONTENTS: Final = ("content", "content:encoded", "xhtml:body")
_PUBLISHED: Final = ("published", "pubdate", "issued", "dcterms:issued", "dc:date", "created", "dcterms:created")
_MODIFIED: Final = ("updated", "modified", "dcterms:modified", "lastbuilddate")
_AUTHORS: Final = ("author", "dc:creator", "itunes:author", "managingeditor")
_MARKUP: Final = frozenset((*_TITLES, *_FEED_SUMMARIES, *_SUMMARIES, *_CONTENTS))
"""Elements whose value may hold elements."""
_HOLDERS: Final = frozenset(("channel", "feed", "rss", "rdf", "rdf:rdf"))
_PARENTS: Final = _HOLDERS | ITEMS | {"media:group"}
"""Elements whose children say something about the feed or the entry."""


def read_xml_feed(source: XmlSource, *, most: int) -> FeedFound | None:
    """Return the feed in a document with its first entries, or ``None`` if it is not a feed."""
    if source.root not in FEED_ROOTS:
        return None
    reader = _FeedReader(most)
    doubt = reader.read(b"".join(source.pieces()).decode("utf-8", "replace"))
    feed = reader.feed
    if not reader.entries and source.root != "rss" and not (feed.first(_TITLES) or feed.links):
        return None
    return FeedFound(
        title=feed.line(_TITLES),
        description=feed.first(_FEED_SUMMARIES),
        home=next((each.href for each in feed.links if each.rel == "alternate"), ""),
        base=address_of(reader.base),
        language=(feed.first(("language", "dc:language")) or reader.language)[: entries.LONGEST_LANGUAGE],
        image=address_of(feed.values.get("logo", "")) or next(iter(feed.images), ""),
        icon=address_of(feed.values.get("icon", "")),
        license=feed.license,
        modified=feed.date(_MODIFIED) or feed.date(_PUBLISHED),
        authors=feed.authors,
        keywords=tuple(feed.keywords),
        links=tuple(feed.links),
        entries=tuple(reader.entries),
        doubt=source.doubt or doubt,
    )


class _Holder:
    """The values of a feed or an entry: the first of each element, and lists where several are allowed."""

    def __init__(self, about: str = "") -> None:
        self.about = about
        self.values: dict[str, str] = {}
        self.contents: list[tuple[str, str]] = []
        self.links: list[Reference] = []
        self.people: list[tuple[str, dict[str, str]]] = []
        self.keywords: dict[str, None] = {}
        self.images: list[str] = []

    def first(self, names: tuple[str, ...]) -> str:
        return next((value for name in names if (value := self.values.get(name))), "")

    def line(self, names: tuple[str, ...]) -> str:
        return self.first(names)[: entries.LONGEST_LINE].strip()

    def date(self, names: tuple[str, ...]) -> datetime | None:
        return next((date for name in names if (date := parse_date(self.values.get(name, "")))), None)

    def add_keyword(self, text: str) -> None:
        text = text[: entries.LONGEST_LINE].strip()
        if text and len(self.keywords) < MOST_PER_ENTRY:
            self.keywords[text] = None

    @property
    def license(self) -> str:
        linked = next((each.href for each in self.links if each.rel == "license"), "")
        return address_of(self.values.get("cc:license", "")) or linked

    @property
    def authors(self) -> tuple[Author, ...]:
        """The authors by the first element that names any: Atom has several, RSS has several elements for one."""
        for name in _AUTHORS:
            people = [person for element, said in self.people if element == name for person in _person(said)]
            if people:
                return tuple(people)
        return ()

    def entry(self) -> FeedEntry:
        enclosures = {each.href: each for each in self.links if each.rel == "enclosure"}
        if enclosures and (seconds := parse_duration(self.values.get("itunes:duration"))):
            first = next(iter(enclosures))
            enclosures[first] = replace(enclosures[first], seconds=seconds)
        markup, base = max(self.contents, key=lambda each: len(each[0]), default=("", ""))
        guid, modified = self.values.get("guid", ""), self.date(_MODIFIED)
        link = next((each.href for each in self.links if each.rel == "alternate"), "")
        pictures = (each.href for each in enclosures.values() if each.media_type.startswith("image/"))
        return FeedEntry(
            link=link or (address_of(guid) if is_web_address(guid) else "") or address_of(self.about),
            title=self.line(_TITLES),
            markup=markup,
            base=address_of(base),
            summary=self.first(_SUMMARIES),
            published=self.date(_PUBLISHED) or modified,
            modified=modified,
            authors=self.authors,
            keywords=tuple(self.keywords),
            language=self.first(("dc:language", "language"))[: entries.LONGEST_LANGUAGE],
            image=next(iter((*self.images, *pictures)), ""),
            enclosures=tuple(enclosures.values()),
        )


class _FeedReader:
    """Collects a feed and its entries; an entry is added when it ends, so a truncated one is dropped."""

    def __init__(self, most: int) -> None:
        self.feed = _Holder()
        self.entries: list[FeedEntry] = []
        self.base = ""
        self.language = ""
        self._most = most
        self._prefixes = dict(_UNDECLARED)
        self._names: dict[str, str] = {}
        self._open: list[str] = []
        self._open_counts: dict[str, int] = {}
        self._bases: list[tuple[int, str]] = [(0, "")]
        self._holder = self.feed
        self._item_depth = 0
        self._text: list[str] = []
        self._markup: list[tuple[bool, str]] | None = None
        self._markup_depth = 0
        self._is_markup = False
        self._doubt = ""
        self._is_full = False

    def read(self, text: str) -> str:
        """Read a document; return what is wrong with it, or an empty string."""
        left = MOST_ELEMENTS
        for token in _TOKEN.finditer(text):
            kind = token.lastgroup
            if kind == "leaf" or kind == "attributes":
                self._start(token["start"], token["attributes"], token["leaf"], token[0])
                left -= 1
                if left < 0:
                    self._doubt = self._doubt or f"more than {MOST_ELEMENTS:,} elements"
                    break
            elif kind == "end":
                self._end(token["end"], token[0])
                if not self._open or self._is_full:
                    break
            elif kind == "text":
                self._add_text(_plain(token[0]))
            elif kind == "cdata":
                self._add_text(token["cdata"])
        if self._is_full:
            return f"it has more than {count(self._most, 'entry', 'entries')}"
        return "truncated XML: the end of the feed is missing" if self._open and not self._doubt else self._doubt

    def _add_text(self, text: str) -> None:
        if self._markup is not None:
            self._markup.append((False, text))
        else:
            self._text.append(text)

    def _start(self, raw: str, attributes: str, leaf: str | None, token: str) -> None:
        is_open = leaf is None and not attributes.endswith("/")
        if self._markup is not None:
            if leaf and "<" in leaf:
                token = token.replace(leaf, escape(_plain(leaf), quote=False))
            if "xmlns:" in attributes:
                self._attributes(attributes)
            name = self._name(raw)
            self._markup.append((True, _unprefixed(token, raw) if name.startswith("xhtml:") else token))
            if is_open and len(self._open) < DEEPEST:
                self._push(name)
            return
        said = self._attributes(attributes) if "=" in attributes else {}
        name = self._name(raw, said["xmlns"]) if "xmlns" in said else self._names.get(raw) or self._name(raw)
        if name in ITEMS:
            if self._item_depth:  # the one before was not closed
                self._close_to(self._item_depth - 1)
            self._holder = _Holder(said.get("rdf:about", ""))
            self._item_depth = len(self._open) + 1
        elif len(self._open) >= DEEPEST:
            self._doubt = self._doubt or f"more than {DEEPEST} nested elements"
            return
        parent = self._open[-1] if self._open else ""
        self._push(name)
        self._text.clear()
        if "xml:base" in said:
            base = self._bases[-1][1]
            self._bases.append((len(self._open), address_of(_resolved(base, said["xml:base"])) or base))
        if len(self._open) <= 2 and name in _HOLDERS:
            self.base = self.base or self._bases[-1][1]
            self.language = self.language or said.get("xml:lang", "")
        if parent in _PARENTS:
            self._start_value(name, said)
        elif parent == name == "itunes:category":
            self._holder.add_keyword(said.get("text", ""))
        if leaf:
            self._add_text(_plain(leaf))
        if not is_open:
            self._close_to(len(self._open) - 1)

    def _start_value(self, name: str, said: dict[str, str]) -> None:
        holder = self._holder
        if name in _MARKUP:
            self._markup, self._markup_depth = [], len(self._open)
            self._is_markup = said.get("type", "").lower() in ("xhtml", "application/xhtml+xml")
        elif name == "link":
            self._link(said, "href", said.get("rel", "").lower() or "alternate")
        elif name == "enclosure":
            self._link(said, "url", "enclosure")
        elif name in ("category", "itunes:category", "media:category"):
            holder.add_keyword(said.get("label") or said.get("term") or said.get("text") or "")
        elif name in _AUTHORS and len(holder.people) < MOST_PER_ENTRY:
            holder.people.append((name, {}))
        elif name == "media:thumbnail" or (
            name == "media:content" and (said.get("medium") == "image" or said.get("type", "").startswith("image/"))
        ):
            self._image(said.get("url", ""))
        elif name == "itunes:image":  # larger than the image of RSS, which is an icon of 88 × 31 pixels
            self._image(said.get("href", ""), first=True)
        elif name == "cc:license":
            holder.values.setdefault(name, said.get("rdf:resource", ""))
        elif name == "guid" and said.get("ispermalink", "").strip().lower() == "false":
            holder.values.setdefault("guid", "-")

    def _end(self, raw: str, token: str) -> None:
        depth, name = len(self._open), self._names.get(raw) or self._name(raw)
        if not depth:
            return
        # A name may have another namespace at its start tag, by an attribute.
        if self._open[-1] != name and self._open[-1].rpartition(":")[2] != name:
            self._doubt = self._doubt or f"broken XML: unexpected {token[:40]}"
            if not self._open_counts.get(name):
                if self._markup is not None:
                    self._markup.append((True, token))
                return
            while self._open[depth - 1] != name:
                depth -= 1
        if self._markup is not None and depth > self._markup_depth:
            self._markup.append((True, _unprefixed(token, raw) if name.startswith("xhtml:") else token))
        self._close_to(depth - 1)

    def _push(self, name: str) -> None:
        self._open.append(name)
        self._open_counts[name] = self._open_counts.get(name, 0) + 1

    def _close_to(self, depth: int) -> None:
        """End the innermost elements until ``depth`` are open."""
        while len(self._open) > depth:
            at, name = len(self._open), self._open.pop()
            self._open_counts[name] -= 1
            if self._markup is not None:
                if at == self._markup_depth:
                    self._end_markup(name)
            elif at == self._item_depth:
                self._end_item()
            elif self._text:
                self._end_value(name, "".join(self._text).strip())
            self._text = []
            while self._bases[-1][0] >= at:
                self._bases.pop()

    def _end_markup(self, name: str) -> None:
        pieces = self._markup or []
        self._markup = None
        has_elements = self._is_markup or any(is_tag for is_tag, _ in pieces)
        value = "".join(
            piece if is_tag or not has_elements else escape(piece, quote=False) for is_tag, piece in pieces
        ).strip()
        if name in _CONTENTS:
            self._holder.contents.append((value, self._bases[-1][1]))
            del self._holder.contents[MOST_PER_ENTRY:]
        elif value:
            self._holder.values.setdefault(name, value)

    def _end_item(self) -> None:
        if len(self.entries) < self._most:
            self.entries.append(self._holder.entry())
        else:
            self._is_full = True
        self._holder, self._item_depth = self.feed, 0

    def _end_value(self, name: str, value: str) -> None:
        if not value:
            return
        holder, parent = self._holder, self._open[-1] if self._open else ""
        if parent in _PARENTS:
            if name == "link":
                self._link({"": value}, "", "alternate")
            elif name in ("category", "dc:subject"):
                holder.add_keyword(value)
            elif name == "itunes:keywords":
                for each in value.split(",")[:MOST_PER_ENTRY]:
                    holder.add_keyword(each)
            elif name in _AUTHORS:
                if holder.people and not holder.people[-1][1]:
                    holder.people[-1][1]["name"] = value
            else:
                holder.values.setdefault(name, value)
        elif parent in _AUTHORS and name in ("name", "uri", "url", "email") and holder.people:
            holder.people[-1][1].setdefault("url" if name == "uri" else name, value)
        elif parent == "image" and name == "url":
            self._image(value)

    def _link(self, said: dict[str, str], key: str, rel: str) -> None:
        href = address_of(said.get(key, ""))
        if href and len(self._holder.links) < MOST_PER_ENTRY:
            base = self._bases[-1][1]
            self._holder.links.append(
                Reference(
                    href=href if base == self.base else _resolved(base, href),
                    rel=rel[: entries.LONGEST_LINE],
                    media_type=said.get("type", "")[: entries.LONGEST_LINE].strip(),
                    title=said.get("title", "")[: entries.LONGEST_LINE].strip(),
                    language=said.get("hreflang", "")[: entries.LONGEST_LANGUAGE].strip(),
                )
            )

    def _image(self, text: str, *, first: bool = False) -> None:
        images = self._holder.images
        if (href := address_of(text)) and len(images) < MOST_PER_ENTRY:
            images.insert(0 if first else len(images), href)

    def _attributes(self, text: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(text):
            value = double or single or bare
            if name.startswith("xmlns:"):
                self._prefixes[name[6:].lower()] = _known_prefix(value, name[6:].lower())
                self._names.clear()
                continue
            prefix, colon, rest = name.lower().partition(":")
            key = f"{self._prefixes.get(prefix, prefix)}:{rest}" if colon else prefix
            found[key.lstrip(":")] = unescape(value) if "&" in value else value
        return found

    def _name(self, raw: str, namespace: str = "") -> str:
        """Return an element's name with this module's prefix for its namespace."""
        prefix, colon, local = raw.lower().rpartition(":")
        known = self._prefixes.get(prefix, prefix) if colon else _known_prefix(namespace, "")
        name = f"{known}:{local}" if known else local
        if not namespace and len(self._names) < _MOST_NAMES:
            self._names[raw] = name
        return name


def _unprefixed(tag: str, name: str) -> str:
    """Return the tag of an XHTML element as HTML: ``<xh:b>`` is ``<b>``."""
    return tag.replace(name, name.rpartition(":")[2])


def _plain(text: str) -> str:
    """Return the text of a token: CDATA unchanged, otherwise with references replaced."""
    if "<![CDATA[" in text:
        return text.strip()[9:-3]
    return unescape(text) if "&" in text else text


def _known_prefix(namespace: str, otherwise: str) -> str:
    prefix = _prefix_of(namespace) if len(namespace) <= _LONGEST_NAMESPACE else None
    return otherwise if prefix is None else prefix


@lru_cache(maxsize=1_024)
def _prefix_of(namespace: str) -> str | None:
    return _NAMESPACES.get(namespace.strip().lower().partition("://")[2].rstrip("/#"))


def _resolved(base: str, href: str) -> str:
    try:
        return urljoin(base, href) if base else href
    except ValueError:
        return href


def _person(said: dict[str, str]) -> Iterator[Author]:
    name = (said.get("name") or said.get("email", ""))[: entries.LONGEST_LINE].strip()
    if name:
        found = _MAILED.fullmatch(name)
        yield Author(name=(found[1].strip() if found else "") or name, url=address_of(said.get("url", "")))
