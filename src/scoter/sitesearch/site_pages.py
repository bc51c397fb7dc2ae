"""The pages of an embedded index, in the order of their addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from scoter.errors import UsageError
from scoter.index.damage import reading
from scoter.index.search import link_factor
from scoter.index.sections import TextSection
from scoter.index.text_index import TextIndex

MOST_PAGES: Final = 500_000


class SitePage(Struct, frozen=True, kw_only=True):
    """What an index in files needs of a page."""

    url: str
    title: str
    description: str
    lang: str
    text: str
    sections: Sequence[TextSection]
    shows_text: bool
    factor: float


class SitePages:
    """Reads the pages of an index. Memory grows with their number, by about 200 bytes each; it is limited."""

    def __init__(self, folder: Path) -> None:
        self._index = TextIndex.open(folder)
        with reading(folder):
            self._searcher: Any = self._index.index.searcher()
        if len(self) > MOST_PAGES:
            raise UsageError(
                f"the index has {len(self):,} pages; an index in files can have {MOST_PAGES:,}",
                where=str(folder),
                hint="Use scoter search-server.",
            )

    def __len__(self) -> int:
        found: int = self._searcher.num_docs
        return found

    def __iter__(self) -> Iterator[SitePage]:
        with reading(self._index.folder):
            for _, address in sorted(self._addresses(), key=lambda each: each[0]):
                yield self._page(address)

    def _addresses(self) -> Iterator[tuple[str, Any]]:
        import tantivy

        every = tantivy.Query.all_query()
        found = self._searcher.search(every, limit=max(1, len(self)), count=False)
        for _, address in found.hits:
            yield self._searcher.doc(address).get_first("id"), address

    def _page(self, address: Any) -> SitePage:
        stored = self._searcher.doc(address)
        fields = self._index.shown_of(stored)
        text, sections = self._index.content_of(stored)
        boost = self._searcher.fast_field_values("boost", [address])[0]
        return SitePage(
            url=stored.get_first("id"),
            title=fields.title,
            description=fields.description,
            lang=fields.lang,
            text=text,
            sections=sections,
            shows_text=not fields.nosnippet,
            factor=link_factor(boost),
        )
