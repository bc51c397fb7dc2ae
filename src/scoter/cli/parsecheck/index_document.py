"""The documents that a page becomes in a search index: their fields, and the filters that set them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from scoter.batch.crawldir.export import utc_text
from scoter.cli.parsecheck.document import CheckedDocument
from scoter.cli.parsecheck.examination import Examination
from scoter.cli.parsecheck.layout import TextLine, clipped, fact, title
from scoter.cli.parsecheck.report import verdict
from scoter.config import Config
from scoter.core.dates import parse_date
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.display import count
from scoter.core.document import CrawledPage, Document, Inlink
from scoter.core.page import Page
from scoter.core.reply import header
from scoter.core.scoring import ScoringChain
from scoter.index.delivery import bounded
from scoter.index.documents import DocumentChain, FilterStep
from scoter.index.routes import configured_plan
from scoter.plugins import POINTS, chain, find

_SHOWN_VALUES = 8
_SHOWN_LENGTH = 400
_SHOWN_PAGES = 20


class IndexedPage(Struct, frozen=True):
    """The document of a page, or why there is none; ``writers`` are those that get it."""

    url: str
    document: Document | None
    steps: Sequence[FilterStep] = ()
    why: str = ""
    writers: tuple[str, ...] = ()

    def set_by(self) -> dict[str, list[str]]:
        """Return the filters that set or changed each field, in order."""
        found: dict[str, list[str]] = {}
        for step in self.steps:
            for name in step.removed:
                found.pop(name, None)
            for name in step.fields:
                found.setdefault(name, []).append(step.name)
        return found


class IndexCheck:
    """Makes the documents of pages as ``scoter index`` would after the first round of a crawl.

    ``metadata`` is the page's in the crawldb; ``anchors`` are the texts of links to it.
    """

    def __init__(self, config: Config, metadata: Mapping[str, str], anchors: Sequence[str]) -> None:
        self._config = config
        self._metadata = metadata
        self._anchors = anchors
        self._now = datetime.now(UTC)
        self._chain = DocumentChain.from_config(config)
        self._scoring = ScoringChain(chain("scoring", config))
        self._plan = configured_plan(config)
        for entry in self._plan.writers:
            find(POINTS["indexwriter"], entry.type)  # an unknown name is an error

    def pages(self, source: CheckedDocument, found: Examination | None) -> list[IndexedPage]:
        """Return the page and the pages inside it that a crawl keeps."""
        if found is None or found.page is None:
            return []
        inner = [entry.page for entry in found.entries if entry.dropped is None]
        return [self._indexed(source, found, found.page, page) for page in (found.page, *inner)]

    def _indexed(self, source: CheckedDocument, found: Examination, own: Page, page: Page) -> IndexedPage:
        if page.noindex and self._config.index.delete_robots_noindex:
            return IndexedPage(page.url.text, None, why="it says noindex (index.delete_robots_noindex)")
        document, steps = self._chain.steps(self._crawled(source, found, own, page))
        if document is None:
            return IndexedPage(page.url.text, None, steps, f"the filter {steps[-1].name} leaves it out")
        document = bounded(document)
        writers = tuple(sorted(self._plan.writers_of(document, self._now)))
        return IndexedPage(page.url.text, document, steps, writers=writers)

    def _crawled(self, source: CheckedDocument, found: Examination, own: Page, page: Page) -> CrawledPage:
        datum = CrawlDatum(
            status=DbStatus.FETCHED,
            fetch_time=self._now,
            modified_time=parse_date(header(source.headers, "Last-Modified")),
            interval=self._config.db.fetch_interval_default,
            score=self._config.db.score_injected,
            signature=found.signatures.get(found.active_signature),
            metadata=self._metadata,
        )
        headers = {"Content-Type": header(source.headers, "Content-Type"), "Content-Length": str(source.wire)}
        return CrawledPage(
            page=page,
            datum=self._scoring.injected(own.url, datum),
            fetched=self._now,
            headers={name: value for name, value in headers.items() if value},
            ip=source.peer,
            segment=f"{self._now:%Y%m%d%H%M%S}",
            part_of="" if page is own else own.url.text,
            inlinks=tuple(Inlink(own.url.text, text) for text in self._anchors) if page is own else (),
        )


def index_object(source: CheckedDocument, found: Examination | None, pages: Sequence[IndexedPage]) -> dict[str, Any]:
    """Return the result as a JSON object."""
    return {
        "url": source.url.text,
        "asked": source.asked,
        "problem": None if pages else verdict(source, found),
        "documents": [_page_object(page) for page in pages],
    }


def _page_object(page: IndexedPage) -> dict[str, Any]:
    document = page.document
    return {
        "url": page.url,
        "indexed": document is not None,
        "why": page.why or None,
        "boost": None if document is None else document.boost,
        "fields": {} if document is None else dict(document.fields),
        "set_by": {} if document is None else page.set_by(),
        "filters": [
            {
                "filter": step.name,
                "set": [name for name in step.fields if name not in step.changed],
                "changed": step.changed,
                "removed": step.removed,
                "dropped": step.dropped,
            }
            for step in page.steps
        ],
        "writers": page.writers,
    }


def index_lines(source: CheckedDocument, found: Examination | None, pages: Sequence[IndexedPage]) -> Iterator[TextLine]:
    """Yield the result for people."""
    if not pages:
        yield TextLine(source.url.text, is_title=True)
        yield TextLine(verdict(source, found))
        if source.hint:
            yield TextLine(source.hint)
    for number, page in enumerate(pages[:_SHOWN_PAGES]):
        yield from (TextLine(""),) if number else ()
        yield TextLine(page.url, is_title=True)
        yield from _page_lines(page)
    if len(pages) > _SHOWN_PAGES:
        yield TextLine("")
        yield TextLine(f"… and {count(len(pages) - _SHOWN_PAGES, 'more inner document')}")


def _page_lines(page: IndexedPage) -> Iterator[TextLine]:
    if page.document is None:
        yield TextLine(f"not indexed: {page.why}")
    else:
        fields = page.document.fields
        to = ", ".join(page.writers) or "no writer, as no route matches"
        yield TextLine(f"a document with {count(len(fields), 'field')} for {to}")
        yield from title("Fields")
        set_by = page.set_by()
        for name, values in fields.items():
            first, *others = set_by.get(name, [""])
            yield from fact(f"{name} ", _shown(values), first + (f", then {', '.join(others)}" if others else ""))
    if page.steps:
        yield from title("Filters")
        for step in page.steps:
            yield from fact(f"{step.name} ", _done(step))


def _shown(values: Sequence[Any]) -> str:
    texts = [clipped(" ".join(_text(value).split()), _SHOWN_LENGTH) for value in values[:_SHOWN_VALUES]]
    more = [f"{len(values) - _SHOWN_VALUES:,} more"] if len(values) > _SHOWN_VALUES else []
    return " | ".join(texts + more)


def _text(value: Any) -> str:
    return utc_text(value) if isinstance(value, datetime) else str(value)


def _done(step: FilterStep) -> str:
    """Return what a filter did, in a few words."""
    if step.dropped:
        return "leaves the page out"
    new = [name for name in step.fields if name not in step.changed]
    parts = [
        f"{verb} {', '.join(names)}"
        for verb, names in (("sets", new), ("changes", step.changed), ("removes", step.removed))
        if names
    ]
    return "; ".join(parts) or "does nothing here"
