"""Zip archives: a page for the archive, and one for each member that some parser reads.

A member's URL is the archive's with ``!/`` and the member's name appended to the path, like Java's ``jar:`` URLs:
``http://a.example/b.zip!/c/d.txt``. It is canonical, unique and on the archive's host. It identifies a page in an index
and cannot be fetched. A ``!`` in a name is escaped, so nested archives are unambiguous: ``b.zip!/inner.zip!/e.txt``.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Final
from urllib.parse import quote

from msgspec.structs import replace

from scoter.core.page import Content, Outlink, Page
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.parse.chain import ParserChain
from scoter.parse.documents.archive import LONGEST_NAME, ByteBudget, UnreadableArchive, ZipArchive
from scoter.parse.documents.pages import MOST_TEXT, DocumentContent, DocumentParser, one_line
from scoter.parse.html import MOST_LINKS
from scoter.parse.mediatype import decide_type
from scoter.parse.records import Parsed, ParseFailed
from scoter.plugins import Setup

ZIP: Final = "application/zip"
DEEPEST: Final = 2
"""Levels of nested archives that are read, including the outermost."""
MOST_BYTES: Final = 64 * 1024 * 1024
MOST_OF_MEMBER: Final = 16 * 1024 * 1024
_DEPTH: Final = "zip.depth"
_ARCHIVE: Final = "zip.archive"


class ZipParser(DocumentParser):
    """Reads zip archives: the names of the members, and the members themselves."""

    media_types: tuple[str, ...] = (ZIP, "application/x-zip-compressed", "application/x-zip")

    def __init__(self, setup: Setup, *, parsers: ParserChain | None = None) -> None:
        """``parsers`` read the members instead of the configured ones."""
        super().__init__(setup)
        self._config = setup.config
        self._given = parsers

    def parse(self, content: Content) -> Sequence[Page]:
        if b"PK" not in content.body[:1024]:
            return ()
        unpacking = _ZipReader(self._chain, self, self._config.parse.entries)
        # parse.types may map a member to this parser again, so the depth travels with the content.
        unpacking.unpack(content, int(content.metadata.get(_DEPTH, "1")))
        return unpacking.pages

    @cached_property
    def _chain(self) -> ParserChain:
        """The parsers for members; parse filters run later, on all pages."""
        if self._given is not None:
            return self._given
        return ParserChain.of(replace(self._config, parse=replace(self._config.parse, filters=())))


def member_url(archive: Url, name: str) -> Url | None:
    """Return the URL of a member's page, or ``None`` if its name allows none.

    >>> str(member_url(canonical("http://a.example/b.zip?c=d"), "e/../../f !.txt"))
    'http://a.example/b.zip!/e/f%20%21.txt?c=d'
    """
    # Dot segments would be resolved and lead out of the archive, to other pages of its host.
    steps = [step for step in name.replace("\\", "/").split("/") if step.strip(" .\0")]
    if not steps or len(name) > LONGEST_NAME:
        return None
    path = quote("/".join(steps), safe="/", errors="replace")
    before, mark, query = archive.text.partition("?")
    try:
        return canonical(f"{before}!/{path}{mark}{query}")
    except UrlError:
        return None


class _ZipReader:
    """Reads one archive and those nested in it, within shared limits."""

    def __init__(self, chain: ParserChain, maker: DocumentParser, entries: int) -> None:
        self.pages: list[Page] = []
        self._chain = chain
        self._maker = maker
        self._entries = entries
        self._budget = ByteBudget(MOST_BYTES)
        self._left = 2 * MOST_TEXT
        self._seen: set[str] = set()

    def unpack(self, content: Content, depth: int) -> None:
        """Add the page of an archive, followed by those of its members."""
        place = len(self.pages)
        names: list[str] = []
        troubles: Counter[str] = Counter()
        self.pages.append(Page(url=content.url))  # placeholder, replaced below
        try:
            archive = ZipArchive(content.body, self._budget)
            for member, name in zip(archive.members, archive.names, strict=True):
                if not name.endswith("/"):
                    names.append(one_line(name, LONGEST_NAME))
                    self._add(archive, member, member_url(content.url, name), content, depth, troubles)
        except UnreadableArchive as error:
            troubles[str(error)] += 1
        doubt = "; ".join(f"{what} ({count})" if count > 1 else what for what, count in troubles.most_common(3))
        own = self._maker.page(content, DocumentContent(text="\n".join(names), doubt=doubt))
        members = self.pages[place + 1 :]
        if self._entries == 0 and members:
            own = _merged(own, members)
            del self.pages[place + 1 :]
        title, metadata = content.url.path.rpartition("/")[2], {"zip.members": str(len(names))}
        self.pages[place] = replace(own, title=title, metadata=metadata)

    def _add(
        self,
        archive: ZipArchive,
        member: zipfile.ZipInfo,
        url: Url | None,
        content: Content,
        depth: int,
        troubles: Counter[str],
    ) -> None:
        if url is None or url.text in self._seen:
            return
        if self._entries and len(self.pages) > self._entries:
            troubles["truncated: more members than parse.entries allows"] = 1
            return
        self._seen.add(url.text)
        try:
            body = archive.read(member, MOST_OF_MEMBER)
        except UnreadableArchive as error:
            if self._budget.left < 0:
                raise
            troubles[str(error)] += 1
            return
        inner = Content(
            url=url,
            media_type=decide_type("", url, body).media_type,
            body=body,
            robots=content.robots,
            metadata={_DEPTH: str(depth + 1)},
        )
        if inner.media_type != ZIP:
            self._parse(inner, content.url, troubles)
        elif depth < DEEPEST:
            self.unpack(inner, depth + 1)
        else:
            troubles["archives are nested too deeply"] += 1

    def _parse(self, content: Content, archive: Url, troubles: Counter[str]) -> None:
        outcome = self._chain.parse(content)
        inside = f"{archive.text.partition('?')[0]}!/"  # links to other members cannot be followed
        match outcome:
            case Parsed():
                # A member may contain several pages itself, such as a feed.
                for page in outcome.pages[: self._entries - len(self.pages) + 1] if self._entries else outcome.pages:
                    self._left -= len(page.text)
                    if self._left < 0:
                        raise UnreadableArchive("truncated: more text than is kept")
                    links = tuple(link for link in page.outlinks if not link.target.text.startswith(inside))
                    self.pages.append(replace(page, outlinks=links, metadata={**page.metadata, _ARCHIVE: archive.text}))
            case ParseFailed(reason=reason) if reason not in ("no_parser", "empty"):
                troubles[f"a member cannot be parsed: {reason}"] += 1


def _merged(own: Page, members: Sequence[Page]) -> Page:
    """Return the archive's page with its members' texts and links, for parse.entries = 0."""
    links: dict[str, Outlink] = {}
    for page in members:
        for link in () if page.nofollow else page.outlinks[: MOST_LINKS - len(links)]:
            links.setdefault(link.target.text, link)
    texts = [own.text, *(f"{page.title}\n{page.text}".strip() for page in members if not page.noindex)]
    return replace(own, text="\n\n".join(filter(None, texts)), outlinks=tuple(links.values()))
