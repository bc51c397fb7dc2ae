"""How often real pages are taken for traps, and how many pages of a trap are fetched before it is recognised."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.batch.trap_sites import REAL, TRAPS, Site

from scoter.batch.crawldir.schemas import PARSE_DATA
from scoter.batch.fetchlists.traps import TrapLimit, TrapState
from scoter.batch.worker.pages import PageProcessor
from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.page import Content
from scoter.core.traps import PageVariety
from scoter.core.url import Url, canonical

ROUNDS, MOST_PER_ROUND = 20, 60
MOST_OF_TRAP = 200
"""How many pages of a trap may be fetched; without limit they would be 20 times 60, or all links on the way."""
_WORDS, _LINKS = PARSE_DATA.names.index("words_hash"), PARSE_DATA.names.index("links_hash")


@pytest.fixture(scope="module")
def processor() -> Iterator[PageProcessor]:
    made = PageProcessor(load())
    yield made
    made.close()


def fetched(processor: PageProcessor, name: str, site: Site) -> tuple[set[str], tuple[str, ...]]:
    """Crawl a site without a network: return the targets of pages that were fetched, and the suspected names."""
    host = f"http://{name}.example"
    datum, variety = CrawlDatum(status=DbStatus.UNFETCHED), PageVariety()
    due, seen, got = [canonical(f"{host}/")], {f"{host}/"}, set()
    names: tuple[str, ...] = ()
    for _ in range(ROUNDS):
        limit = TrapLimit(TrapState(names=names, samples=variety.samples), 0.01, 2026, lambda url: False)
        picked: list[Url] = []
        for url in due:
            if len(picked) < MOST_PER_ROUND and limit.admits(url, len(picked)):
                picked.append(url)
        due = [url for url in due if url not in set(picked)]
        for url in picked:
            body = site.page(url.target)
            if body is None:
                continue
            got.add(url.target)
            content = Content(url=url, media_type="text/html", body=body.encode(), encoding="utf-8")
            (rows,) = processor.rows_in_place(datum, content) or []
            variety.add(url, rows.data[_WORDS], rows.data[_LINKS])
            for link in rows.links:
                if link.target.host == url.host and link.target.text not in seen:
                    seen.add(link.target.text)
                    due.append(link.target)
        names = tuple(variety.monotonous())
    return got, names


@pytest.mark.parametrize("name", REAL)
def test_pages_that_are_alike_are_not_taken_for_a_trap(processor: PageProcessor, name: str) -> None:
    got, names = fetched(processor, name, REAL[name])

    assert names == ()
    assert len(got) == REAL[name].pages


@pytest.mark.parametrize("name", TRAPS)
def test_trap_is_recognised_after_few_pages(processor: PageProcessor, name: str) -> None:
    got, names = fetched(processor, name, TRAPS[name])

    assert names
    assert len(got) <= MOST_OF_TRAP
