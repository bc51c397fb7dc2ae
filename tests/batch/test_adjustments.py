"""Scoring filters that adjust the record of the page whose score they distribute."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tests.batch.crawls import NOW, crawl_at, datum, link, linkdb, page, write_crawldb, write_segment
from tests.batch.jobs.test_webgraph import ALL, build, links_of
from tests.batch.making import crawldb_of

from scoter.batch.jobs.invertlinks import invertlinks
from scoter.batch.jobs.updatedb import updatedb
from scoter.batch.worker.pages import PageProcessor
from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.page import ADJUSTMENT, Content, Outlink, Page
from scoter.core.scoring import ScoringChain
from scoter.core.url import Url, canonical
from scoter.engine import Engine

A, B = "http://a.org/", "http://a.org/b"


class GivesHalf:
    """Takes half of what a page passes on from the page itself."""

    def distribute(
        self, url: Url, datum: CrawlDatum, page: Page, targets: Sequence[Outlink], found: int
    ) -> Sequence[Outlink]:
        return [*targets, Outlink(target=url, kind=ADJUSTMENT, score=-datum.score / 2)]


def test_adjustment_is_stored_but_does_not_count_as_a_link() -> None:
    with closing(PageProcessor(load(overrides=[]))) as pages:
        pages._scoring = ScoringChain([("gives-half", GivesHalf())])
        content = Content(url=canonical(A), body=b"<a href=/b>b</a>", media_type="text/html")

        (rows,) = pages.rows_in_place(CrawlDatum(status=DbStatus.UNFETCHED, score=3.0), content) or []

    assert [(each.target.text, each.kind, each.score) for each in rows.links] == [
        (B, "a", 0.0),
        (A, ADJUSTMENT, -1.5),
    ]
    assert 1 in rows.data  # the number of links
    assert 2 not in rows.data


def test_adjustment_changes_only_the_score_of_its_page(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [datum(A, "unfetched", score=3.0)])
    own = link(A, A, score=-1.5, kind=ADJUSTMENT)
    fetched = datum(A, "success", score=3.0, fetch_time=NOW)
    segment = write_segment(
        crawl, "1", fetches=[fetched], pages=[page(A)], links=[link(A, B, "b", score=1.0, kind="a"), own]
    )
    config = load(overrides=["linkdb.ignore_internal_links=false"])

    updatedb(crawl, engine, config, [segment], now=NOW)
    invertlinks(crawl, engine, config, [segment], now=NOW)
    build(crawl, engine, *ALL)

    assert {url: row["score"] for url, row in crawldb_of(crawl).items()} == {A: 1.5, B: 1.0}
    assert linkdb(crawl) == {B: [(A, "b")]}
    assert links_of(crawl) == [(A, B)]
