"""From a redirect to the index: where the representative URL of a page is stored and used."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.batch.making import NOW, crawldb_of, fetch, link, make_crawl, make_segment

from scoter.batch.jobs.updatedb import updatedb
from scoter.batch.worker.records import RequestContext
from scoter.builtin.index_fields import BasicIndexingFilter
from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.document import CrawledPage, Document
from scoter.core.page import Page
from scoter.core.url import Url, canonical
from scoter.engine.duckdb import DuckDbEngine
from scoter.plugins import Setup

ROOT, HOME, DEEP = (canonical(f"http://a.example/{path}") for path in ("", "home", "en/home"))


def followed(known: RequestContext, source: Url, target: Url) -> RequestContext:
    """Return the context of a temporary redirect's target."""
    shown = known.representative(source, target, permanent=False)
    return known.for_redirect(source, target, shown, 60)


def test_representative_url_passes_through_a_redirect_chain() -> None:
    first = followed(RequestContext(metadata={"topic": "seals"}), ROOT, HOME)
    second = followed(first, HOME, DEEP)
    elsewhere = followed(second, DEEP, canonical("http://b.example/"))

    assert first.metadata == second.metadata == {"topic": "seals", "_repr_": ROOT.text}
    assert elsewhere.metadata == {"topic": "seals"}


def test_wrong_representative_url_of_a_seed_is_ignored() -> None:
    assert followed(RequestContext(metadata={"_repr_": "nonsense"}), HOME, DEEP).metadata == {"_repr_": HOME.text}


@pytest.mark.parametrize("filters", ["opic", "opic,urlmeta"])
def test_target_that_was_not_followed_gets_its_representative_url(tmp_path: Path, filters: str) -> None:
    # given a redirect whose target is new, and one whose target is known
    crawl = make_crawl(tmp_path / "crawl")
    moved = fetch(ROOT.text, "redir_temp", to=HOME.text, metadata={"topic": "seals", "_repr_": "http://a.example/old"})
    other = fetch(
        "http://b.example/x", "redir_perm", to="http://b.example/y", metadata={"_repr_": "http://b.example/w"}
    )
    rows = [{**moved, "redirect_represented_by": ROOT.text}, other]
    segment = make_segment(crawl, fetches=rows, links=[link(ROOT.text, "http://c.example/")])

    # when the crawldb is updated
    config = load(overrides=[f"scoring.filters={filters}"])
    with DuckDbEngine(tmp_path / "engine", 2**28, threads=1) as engine:
        updatedb(crawl, engine, config, [segment], now=NOW)

    # then the target has it, and nothing of its source's
    found = {url: dict(row["metadata"] or ()) for url, row in crawldb_of(crawl).items()}
    assert found[HOME.text] == {"topic": "seals", "_repr_": ROOT.text}
    assert found["http://b.example/y"] == {}
    assert found["http://c.example/"] == {}


def crawled(page: Page, metadata: dict[str, str], part_of: str = "") -> CrawledPage:
    return CrawledPage(page=page, datum=CrawlDatum(status=DbStatus.FETCHED, metadata=metadata), part_of=part_of)


def test_document_shows_the_representative_url_and_keeps_its_id() -> None:
    basic = BasicIndexingFilter(Setup(load(overrides=["index.add_domain=true"])))
    page = Page(url=canonical("http://www.shop.example/en/home"), title="Home")
    given = Document(id=page.url.text)

    shown = basic.fill(given, crawled(page, {"_repr_": "http://shop.example/"}))
    wrong = basic.fill(given, crawled(page, {"_repr_": "nonsense"}))
    entry = basic.fill(given, crawled(page, {"_repr_": "http://shop.example/"}, part_of="http://www.shop.example/feed"))

    assert shown is not None
    assert wrong is not None
    assert entry is not None
    assert (shown.id, shown.first("url"), shown.first("host")) == (
        "http://www.shop.example/en/home",
        "http://shop.example/",
        "shop.example",
    )
    assert wrong.first("url") == entry.first("url") == page.url.text
