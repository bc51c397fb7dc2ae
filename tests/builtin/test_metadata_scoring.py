"""The scoring filters metadata and urlmeta: what travels from a record to the records of its links."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.batch.crawls import crawldb
from tests.long.batch_truth import settings

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.crawl import CrawlLimits, crawl
from scoter.batch.jobs.inject import inject
from scoter.builtin.carried_metadata import LONGEST_VALUE
from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.page import Content, Outlink, Page
from scoter.core.scoring import ScoringChain
from scoter.core.url import canonical
from scoter.engine.duckdb import DuckDbEngine
from scoter.plugins import chain
from scoter.simweb import SimServer, WebSpec, running

URL = canonical("http://a.example/")
CONTENT = Content(url=URL, media_type="text/html", body=b"")
TARGETS = [Outlink(target=canonical("http://a.example/b")), Outlink(target=canonical("http://c.example/"))]


def carried(*overrides: str, metadata: dict[str, str], page: Page) -> tuple[Page, list[dict[str, str]]]:
    """Return the page and the metadata of its links."""
    scoring = ScoringChain(chain("scoring", load(overrides=overrides)))
    datum = CrawlDatum(status=DbStatus.UNFETCHED, metadata=metadata)
    parsed = scoring.after_parsing(URL, scoring.before_parsing(URL, datum, CONTENT), page)
    return parsed, [dict(link.metadata) for link in scoring.distribute(URL, datum, parsed, TARGETS, 2)]


def test_urlmeta_tags_travel_from_a_record_to_its_page_and_links() -> None:
    page, links = carried(
        "scoring.filters=urlmeta",
        "scoring.urlmeta_tags=topic,level",
        metadata={"topic": "seals", "other": "x"},
        page=Page(url=URL, metadata={"lang": "en"}),
    )

    assert dict(page.metadata) == {"lang": "en", "topic": "seals"}
    assert links == [{"topic": "seals"}] * 2


def test_metadata_is_passed_only_as_far_as_its_settings_say() -> None:
    chosen = ("scoring.filters=metadata", "scoring.db_md=a,b,c", "scoring.content_md=b,c", "scoring.parse_md=c,d")
    known, said = {"a": "1", "b": "2", "c": "3"}, Page(url=URL, metadata={"d": "4\t5", "e": "6"})

    page, links = carried(*chosen, metadata=known, page=said)

    assert dict(page.metadata) == {"b": "2", "c": "3", "d": "4\t5", "e": "6"}
    assert links == [{"c": "3", "d": "4"}] * 2  # of several values, the first


def test_links_get_content_metadata_that_the_parse_lacks() -> None:
    chosen = ("scoring.filters=metadata", "scoring.db_md=a", "scoring.parse_md=a")

    _, links = carried(*chosen, metadata={"a": "1"}, page=Page(url=URL))

    assert links == [{"a": "1"}] * 2


def test_long_values_are_truncated_on_links() -> None:
    _, links = carried(
        "scoring.filters=metadata",
        "scoring.parse_md=d",
        metadata={},
        page=Page(url=URL, metadata={"d": "x" * 10_000}),
    )

    assert links == [{"d": "x" * LONGEST_VALUE}] * 2


def test_links_without_chosen_metadata_are_unchanged() -> None:
    scoring = ScoringChain(chain("scoring", load(overrides=["scoring.filters=metadata"])))

    assert scoring.distribute(URL, CrawlDatum(status=DbStatus.UNFETCHED), Page(url=URL), TARGETS, 2) is TARGETS


@pytest.fixture
def server() -> Iterator[SimServer]:
    with running(WebSpec(hosts=2, pages=12, page_bytes=1_000, links=3, trap_size=2, sessions=2)) as opened:
        yield opened


@pytest.mark.slow
def test_tags_of_a_seed_reach_the_pages_of_later_rounds(server: SimServer, tmp_path: Path) -> None:
    # given a seed with a tag
    now = datetime.now(UTC)
    chosen = ('scoring.filters=["opic", "urlmeta"]', "scoring.urlmeta_tags=topic", "fetch.processes=1")
    config = load(overrides=settings(server.port, *chosen, "store.disk_floor=0B"))
    made = CrawlDir.create(tmp_path / "crawl", now)
    seed = server.web.seeds()[0]

    # when it is crawled for two rounds
    with DuckDbEngine(tmp_path / "engine", 2**28, threads=1) as engine:
        inject(made, engine, config, [f"{seed}\ttopic=seals"], now=now)
        crawl(made, engine, config, rounds=CrawlLimits(most=2, top_n=5, add_days=0, dedup=False))

    # then everything it led to has the tag
    records = crawldb(made)
    unfetched = [each for each in records.values() if each["status"] == "unfetched"]
    assert len(records) > 10
    assert unfetched
    assert {(each["metadata"] or {}).get("topic") for each in records.values()} == {"seals"}
