"""Scoring filters that see a document, and those that see only the record of its page."""

from __future__ import annotations

from typing import Any

import pytest

from scoter.cli.parsecheck.examination import examine
from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.document import CrawledPage, Document, Inlink
from scoter.core.page import Content, Outlink, Page
from scoter.core.scoring import ScoringChain
from scoter.core.url import Url, canonical
from scoter.index.documents import DocumentChain
from scoter.plugins import loading
from scoter.plugins.points import POINTS

URL = canonical("http://a.example/")
CRAWLED = CrawledPage(
    page=Page(url=URL, title="Seals", text="grey seals"),
    datum=CrawlDatum(status=DbStatus.FETCHED, score=2.0),
    inlinks=(Inlink("http://b.example/", "seals"), Inlink("http://c.example/", "more")),
)


class ByRecord:
    def index(self, url: Url, datum: CrawlDatum, boost: float) -> float:
        return boost * datum.score


class ByDocument:
    """Prefers documents in English with many inlinks."""

    def index(self, url: Url, datum: CrawlDatum, boost: float, document: Document, crawled: CrawledPage) -> float:
        return boost * len(crawled.inlinks) * (10 if document.first("lang") == "en" else 1) + len(crawled.page.title)


class Language:
    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        return document.with_fields(lang=["en"], boost=[document.boost])


def test_scoring_filter_sees_the_filled_document_the_page_and_its_inlinks() -> None:
    chain = DocumentChain([("language", Language())], ScoringChain([("new", ByDocument()), ("old", ByRecord())]))

    made = chain.document(CRAWLED)
    traced, _ = chain.steps(CRAWLED)

    assert made is not None
    assert made.boost == 2.0 * 2 * 10 + 5
    assert made.first("boost") == made.boost
    assert traced == made


@pytest.mark.parametrize("plugin", [ByRecord, ByDocument])
def test_both_forms_of_the_hook_fit_the_extension_point(plugin: type) -> None:
    assert loading._misfits(POINTS["scoring"], plugin) == []


def test_hook_with_other_parameters_does_not_fit() -> None:
    class Wrong:
        def index(self, url: Url) -> float:
            return 1.0

    assert loading._misfits(POINTS["scoring"], Wrong) == ["index() must take (self, url, datum, boost)"]


def test_parsechecker_runs_the_scoring_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    class Halves:
        def injected(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
            return CrawlDatum(status=datum.status, score=8.0)

        def before_parsing(self, url: Url, datum: CrawlDatum, content: Content) -> Content:
            seen.append(datum.score)
            return content

        def after_parsing(self, url: Url, content: Content, page: Page) -> Page:
            return Page(url=page.url, title="Scored", text=page.text, outlinks=page.outlinks)

        def distribute(self, url: Url, datum: CrawlDatum, page: Page, targets: Any, found: int) -> list[Outlink]:
            return [Outlink(target=each.target, score=datum.score / 2) for each in targets if "b" in each.target.path]

    seen: list[float] = []
    plugins = [("halves", Halves())]
    real = loading.chain
    monkeypatch.setattr(
        "scoter.cli.parsecheck.examination.chain",
        lambda name, config: plugins if name == "scoring" else real(name, config),
    )
    html = b"<title>A page</title><a href=/b>b</a><a href=/c>c</a>"

    found = examine(load(overrides=[]), Content(url=URL, body=html, media_type="text/html"))

    assert found.page is not None
    assert (seen, found.score, found.page.title) == ([8.0], 8.0, "Scored")
    assert {each.link.target.path: each.score for each in found.links} == {"/b": 4.0, "/c": None}
