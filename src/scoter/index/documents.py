"""From crawled pages to documents: the scoring filters set the boost, and the indexing filters set the fields."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from scoter.config import Config
from scoter.core.document import CrawledPage, Document
from scoter.core.scoring import ScoringChain
from scoter.plugins import IndexingFilter, chain

_BOOST = "boost"  # the field, if a filter has set it


class FilterStep(Struct, frozen=True):
    """What an indexing filter did: the fields it set, changed and removed, or that it dropped the document."""

    name: str
    fields: Mapping[str, tuple[Any, ...]]
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    dropped: bool = False


class DocumentChain:
    """Makes documents with the active filters."""

    def __init__(self, filters: Sequence[tuple[str, IndexingFilter]], scoring: ScoringChain) -> None:
        self._filters = filters
        self._scoring = scoring
        self.reads_outlinks = any(getattr(each, "reads_outlinks", False) for _, each in filters)

    @classmethod
    def from_config(cls, config: Config) -> DocumentChain:
        return cls(chain("indexingfilter", config), ScoringChain(chain("scoring", config)))

    def document(self, crawled: CrawledPage) -> Document | None:
        """Return the document of a page, or ``None`` if a filter drops it."""
        document: Document | None = self._begin(crawled)
        for _, each in self._filters:
            if document is None:
                return None
            document = each.fill(document, crawled)
        return None if document is None else self._scored(document, crawled)

    def steps(self, crawled: CrawledPage) -> tuple[Document | None, list[FilterStep]]:
        """Return the document of a page, and what each filter did."""
        document = self._begin(crawled)
        steps: list[FilterStep] = []
        for name, each in self._filters:
            after = each.fill(document, crawled)
            if after is None:
                return None, [*steps, FilterStep(name, {}, dropped=True)]
            before = document.fields
            fields = {field: values for field, values in after.fields.items() if before.get(field) != values}
            changed = tuple(field for field in fields if field in before)
            steps.append(
                FilterStep(name, fields, changed, tuple(field for field in before if field not in after.fields))
            )
            document = after
        return self._scored(document, crawled), steps

    def _begin(self, crawled: CrawledPage) -> Document:
        document = Document(id=crawled.page.url.text, sections=crawled.page.sections)
        boost = self._scoring.index(crawled.page.url, crawled.datum)
        # Search back ends reject NaN and infinity.
        return replace(document, boost=max(boost, 0.0)) if math.isfinite(boost) else document

    def _scored(self, document: Document, crawled: CrawledPage) -> Document:
        """Return a document with the boost that scoring filters give it after seeing its fields."""
        boost = self._scoring.index_document(document, crawled)
        if boost == document.boost or not math.isfinite(boost) or boost < 0:
            return document
        document = replace(document, boost=boost)
        return document.with_fields({_BOOST: [boost]}) if _BOOST in document.fields else document
