"""Duplicates: which pages are compared, which one is kept, and near-duplicates."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batch.crawls import NOW, crawl_at, crawldb, datum, page, write_crawldb, write_segment
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.dedup import DedupGroup, DedupResult, _bands, dedup
from scoter.config import load
from scoter.engine import Engine
from scoter.errors import UsageError, UserError

__all__ = ["run"]

CONFIG = load(None, {}, [])
SAME, OTHER = b"\x01", b"\x02"


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_at(tmp_path / "crawl")


def duplicates(crawl: CrawlDir) -> set[str]:
    return {url for url, row in crawldb(crawl).items() if row["status"] == "duplicate"}


def test_best_page_of_a_signature_is_kept(crawl: CrawlDir, engine: Engine) -> None:
    best = datum("http://a.org/", score=3.0, signature=SAME, metadata=[("k", "v")])
    worse = [datum("http://b.org/", score=2.0, signature=SAME), datum("http://c.org/", "notmodified", signature=SAME)]
    alone = datum("http://d.org/", signature=OTHER)
    write_crawldb(crawl, [best, *worse, alone], applied=["1"])
    before = crawldb(crawl)

    made = dedup(crawl, engine, CONFIG, now=NOW)

    assert made == DedupResult(exact=2, near=0)
    expected = {
        url: {**row, "status": "duplicate"} if url in ("http://b.org/", "http://c.org/") else row
        for url, row in before.items()
    }
    assert crawldb(crawl) == expected


def test_only_fetched_pages_with_a_signature_are_compared(crawl: CrawlDir, engine: Engine) -> None:
    others = ["unfetched", "gone", "redir_temp", "redir_perm", "duplicate", "orphan", "parse_failed"]
    rows = [datum(f"http://{status.replace('_', '')}.org/", status, signature=SAME) for status in others]
    write_crawldb(
        crawl, [*rows, datum("http://a.org/", signature=SAME), datum("http://b.org/"), datum("http://c.org/")]
    )
    files = sorted(crawl.crawldb.iterdir())

    made = dedup(crawl, engine, CONFIG, now=NOW)

    assert made == DedupResult(exact=0, near=0)
    assert sorted(crawl.crawldb.iterdir()) == files  # nothing to mark: no new version


LATER = NOW + timedelta(days=40)
HTTP, HTTPS, LONG = "http://b.org/", "https://b.org/", "http://a.org/long"
ORDERS = [
    ("score,fetchTime", {HTTP: {"score": 2.0}, LONG: {"fetch_time": LATER}}, HTTP),
    ("fetchTime,score", {HTTP: {"score": 2.0}, LONG: {"fetch_time": LATER}}, LONG),
    ("score,httpsOverHttp", {}, HTTPS),
    ("urlLength", {}, HTTP),
    ("httpsOverHttp,urlLength", {}, HTTPS),
    ("score", {}, LONG),  # the one that sorts first
]


@pytest.mark.parametrize(("order", "changes", "winner"), ORDERS)
def test_compare_order_decides_which_page_is_kept(
    crawl: CrawlDir, engine: Engine, order: str, changes: dict[str, dict[str, Any]], winner: str
) -> None:
    write_crawldb(crawl, [datum(url, signature=SAME, **changes.get(url, {})) for url in (HTTP, HTTPS, LONG)])

    dedup(crawl, engine, CONFIG, now=NOW, compare_order=order)

    assert duplicates(crawl) == {HTTP, HTTPS, LONG} - {winner}


def test_url_length_is_measured_decoded(crawl: CrawlDir, engine: Engine) -> None:
    escaped, plain = "http://a.org/%E4%BD%A0%E5%A5%BD%20", "http://a.org/abcd"
    write_crawldb(crawl, [datum(escaped, signature=SAME), datum(plain, signature=SAME)])

    dedup(crawl, engine, CONFIG, now=NOW, compare_order="urlLength")

    assert duplicates(crawl) == {plain}


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("none", {"http://www.bbc.co.uk/2", "http://news.bbc.co.uk/", "http://other.co.uk/"}),
        ("domain", {"http://www.bbc.co.uk/2", "http://news.bbc.co.uk/"}),
        ("host", {"http://www.bbc.co.uk/2"}),
    ],
)
def test_pages_are_compared_only_within_their_group(
    crawl: CrawlDir, engine: Engine, group: DedupGroup, expected: set[str]
) -> None:
    urls = ["http://www.bbc.co.uk/1", "http://www.bbc.co.uk/2", "http://news.bbc.co.uk/", "http://other.co.uk/"]
    write_crawldb(crawl, [datum(url, signature=SAME, score=9.0 - n) for n, url in enumerate(urls)])

    dedup(crawl, engine, CONFIG, now=NOW, group=group)

    assert duplicates(crawl) == expected


@pytest.mark.parametrize("order", ["", "scroe", "score,score"])
def test_invalid_compare_order_is_rejected(crawl: CrawlDir, engine: Engine, order: str) -> None:
    write_crawldb(crawl, [datum(HTTP, signature=SAME)])

    with pytest.raises(UsageError, match="compare order"):
        dedup(crawl, engine, CONFIG, now=NOW, compare_order=order)


def test_near_duplicates_of_a_kept_page_are_marked(crawl: CrawlDir, engine: Engine) -> None:
    base = -0x0123456789ABCDEF
    texts = {
        "http://best.org/": base,
        "http://same.org/": base,
        "http://near.org/": base ^ 0b111,
        "http://chain.org/": base ^ 0b111 ^ (0b11 << 40),  # near the one above, which goes
        "http://chained.org/": base ^ 0b111 ^ (0b111 << 40),
        "http://far.org/": base ^ (0b1111 << 20),
        "http://gone.org/": base,
    }
    statuses = {"http://gone.org/": "gone"}
    rows = [datum(url, statuses.get(url, "fetched"), score=9.0 - n) for n, url in enumerate(texts)]
    write_crawldb(crawl, rows)
    older = [page("http://far.org/", simhash=base)]
    write_segment(crawl, "1", pages=older)
    write_segment(crawl, "2", pages=[page(url, simhash=simhash) for url, simhash in texts.items()])

    made = dedup(crawl, engine, CONFIG, now=NOW, near=True)

    assert made == DedupResult(exact=0, near=3)
    assert duplicates(crawl) == {"http://same.org/", "http://near.org/", "http://chained.org/"}


def test_near_duplicates_on_other_hosts_are_kept_when_grouping_by_host(crawl: CrawlDir, engine: Engine) -> None:
    urls = ["http://a.org/1", "http://a.org/2", "http://b.org/"]
    write_crawldb(crawl, [datum(url, score=9.0 - n) for n, url in enumerate(urls)])
    write_segment(crawl, "1", pages=[page(url, simhash=n) for n, url in enumerate(urls)])

    dedup(crawl, engine, CONFIG, now=NOW, near=True, group="host")

    assert duplicates(crawl) == {"http://a.org/2"}


def test_missing_simhashes_name_the_setting(crawl: CrawlDir, engine: Engine) -> None:
    write_crawldb(crawl, [datum(HTTP)])
    write_segment(crawl, "1", pages=[page(HTTP)])

    with pytest.raises(UserError, match=r"parse\.simhash"):
        dedup(crawl, engine, CONFIG, now=NOW, near=True)


def test_near_duplicates_equal_those_of_comparing_all_pairs(crawl: CrawlDir, engine: Engine) -> None:
    chance = random.Random(7)
    centres = [chance.getrandbits(64) for _ in range(12)]
    simhashes = [chance.choice(centres) for _ in range(300)]
    for number in range(len(simhashes)):
        for _ in range(chance.randrange(4)):
            simhashes[number] ^= 1 << chance.randrange(64)
    urls = [f"http://h{number:03}.org/" for number in range(len(simhashes))]
    write_crawldb(crawl, [datum(url, score=1000.0 - n) for n, url in enumerate(urls)])
    signed = [simhash - (1 << 64) if simhash >> 63 else simhash for simhash in simhashes]
    write_segment(crawl, "1", pages=[page(url, simhash=simhash) for url, simhash in zip(urls, signed, strict=True)])

    dedup(crawl, engine, CONFIG, now=NOW, near=True)

    kept: list[int] = []
    for number, simhash in enumerate(simhashes):
        if all((simhash ^ simhashes[other]).bit_count() > 3 for other in kept):
            kept.append(number)
    assert duplicates(crawl) == set(urls) - {urls[number] for number in kept}


def test_command_prints_the_number_of_duplicates(crawl: CrawlDir, run: Run) -> None:
    write_crawldb(crawl, [datum(HTTP, signature=SAME), datum(HTTPS, signature=SAME)])

    wrong = run("dedup", crawl.path, "--compare-order", "scroe")
    done = run("dedup", crawl.path, "--json")

    assert (wrong.code, "did you mean 'score'" in wrong.err) == (2, True)
    assert (done.code, done.out) == (0, '{"exact":1,"near":0}\n')
    assert duplicates(crawl) == {HTTPS}


@given(
    simhash=st.integers(-(2**63), 2**63 - 1),
    distance=st.integers(0, 6),
    bits=st.lists(st.integers(0, 63), max_size=6, unique=True),
)
def test_simhashes_within_the_distance_share_a_band(simhash: int, distance: int, bits: list[int]) -> None:
    other = simhash
    for bit in bits[:distance]:
        other ^= -(2**63) if bit == 63 else 1 << bit

    bands = _bands(distance, _batch([simhash, other])).to_pylist()

    keys = [{(row["band"], row["bits"]) for row in bands if row["rank"] == rank} for rank in (0, 1)]
    assert keys[0] & keys[1]


def _batch(simhashes: list[int]) -> Any:
    import pyarrow as pa

    schema = pa.schema([("rank", pa.int64()), ("among", pa.utf8()), ("simhash", pa.int64())])
    rows = [{"rank": rank, "among": "", "simhash": simhash} for rank, simhash in enumerate(simhashes)]
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def test_missing_crawldb_suggests_inject(crawl: CrawlDir, engine: Engine) -> None:
    crawl.crawldb.mkdir()  # which is what a killed inject may leave

    with pytest.raises(UsageError, match="there is no crawldb yet"):
        dedup(crawl, engine, CONFIG, now=NOW)
