"""updatedb: which segments it applies, what it drops, and what it reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.batch.making import DAY, NOW, crawldb_of, fetch, known, link, make_crawl, make_segment, page, put
from tests.batch.truth import Told, assert_same, truth

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.schemas import plugin_columns
from scoter.batch.crawldir.segment import FETCHED
from scoter.batch.jobs.updatedb import CrawldbUpdate, pending, updatedb
from scoter.config import load
from scoter.engine import Engine
from scoter.errors import UsageError
from scoter.plugins import chain, installed
from scoter.store.tables import Table

CONFIG = load()
A, B, C, D = (f"http://{name}.example/" for name in "abcd")


def test_segment_is_applied_and_recorded_in_the_manifest(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A), known(B)])
    segment = make_segment(crawl, fetches=[fetch(A), fetch(B, "gone")], links=[link(A, C, 0.5), link(A, B, 0.5)])
    assert pending(crawl) != []

    done = updatedb(crawl, engine, CONFIG, [segment], now=NOW)

    assert (done.outcomes, done.fetched, done.links, done.new, done.urls, done.urls_before) == (2, 1, 2, 1, 3, 2)
    assert done.statuses == {"fetched": 1, "gone": 1, "unfetched": 1}
    assert {url: row["status"] for url, row in crawldb_of(crawl).items()} == {A: "fetched", B: "gone", C: "unfetched"}
    assert Table.open(crawl.crawldb).manifest.applied == (segment.name,)
    assert pending(crawl) == []


def test_segment_is_applied_only_once_unless_forced(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A), known(B, score=1.0)])
    segment = make_segment(crawl, fetches=[fetch(A)], links=[link(A, B, 0.5)])
    updatedb(crawl, engine, CONFIG, [segment], now=NOW)

    with pytest.raises(UsageError, match=f"segment {segment.name} is already in the crawldb"):
        updatedb(crawl, engine, CONFIG, [segment], now=NOW)
    assert crawldb_of(crawl)[B]["score"] == 1.5

    updatedb(crawl, engine, CONFIG, [segment], now=NOW, force=True)
    assert crawldb_of(crawl)[B]["score"] == 2.0


def test_consecutive_updates_use_their_own_segments_links_and_time(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A), known(B)])
    update = CrawldbUpdate(load(overrides=["db.update_max_inlinks=1"]))
    first = make_segment(crawl, "20261115000001", fetches=[fetch(A)], links=[link(A, C, 0.5)])
    update.run(crawl, engine, [first], now=NOW)
    assert crawldb_of(crawl)[C]["fetch_time"] == NOW

    # Two segments, and more links than count.
    second = make_segment(crawl, "20261115000002", fetches=[fetch(B)], links=[link(B, C, 2.0), link(A, C, 1.0)])
    third = make_segment(crawl, "20261115000003", fetches=[fetch(C)], links=[link(C, A, 3.0), link(C, D, 1.0)])
    update.run(crawl, engine, [second, third], now=NOW + DAY)

    found = crawldb_of(crawl)
    assert {url: row["status"] for url, row in found.items()} == {
        A: "fetched",
        B: "fetched",
        C: "fetched",
        D: "unfetched",
    }
    assert found[D]["fetch_time"] == NOW + DAY
    assert found[C]["score"] == 0.5 + 2.0


@pytest.mark.parametrize(
    "setting", ["db.fetch_interval_default=1h", "db.fetch_retry_max=1", "parse.delete_failed_parse=true"]
)
def test_update_uses_its_own_settings_after_one_with_others(engine: Engine, tmp_path: Path, setting: str) -> None:
    told = Told(
        crawldb=[known(A), known(B)],
        fetches=[fetch(A), fetch(B, "retry", retries=0)],
        pages=[page(A, "failed")],
        links=[link(A, C, 0.5)],
    )
    for number, config in enumerate((CONFIG, load(overrides=[setting]))):
        crawl = make_crawl(tmp_path / f"crawl{number}", told.crawldb)
        segment = make_segment(crawl, fetches=told.fetches, pages=told.pages, links=told.links)
        updatedb(crawl, engine, config, [segment], now=NOW)
        assert_same(crawldb_of(crawl), truth(told, config, NOW))
    assert truth(told, config, NOW) != truth(told, CONFIG, NOW)


def test_first_segment_creates_the_crawldb(engine: Engine, tmp_path: Path) -> None:
    crawl = CrawlDir.create(tmp_path / "crawl", NOW)
    segment = make_segment(crawl, fetches=[fetch(A)], pages=[page(A, signature=b"a")], links=[link(A, B, 0.5)])

    done = updatedb(crawl, engine, CONFIG, pending(crawl), now=NOW)

    assert (done.segments, done.new, done.urls, done.urls_before) == ((segment.name,), 2, 2, 0)
    assert {url: row["status"] for url, row in crawldb_of(crawl).items()} == {A: "fetched", B: "unfetched"}
    assert pending(crawl) == []


def test_segment_named_twice_is_applied_once(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A), known(B, score=1.0)])
    segment = make_segment(crawl, fetches=[fetch(A)], links=[link(A, B, 0.5)])

    done = updatedb(crawl, engine, CONFIG, [segment, crawl.segment(segment.name)], now=NOW)

    assert (done.segments, done.fetched, done.links) == ((segment.name,), 1, 1)
    assert crawldb_of(crawl)[B]["score"] == 1.5


def test_unfinished_segment_is_rejected_or_forced_with_its_finished_parts(engine: Engine, tmp_path: Path) -> None:
    # given a part of links whose fetches never got their name
    crawl = make_crawl(tmp_path / "crawl", [known(A), known(B)])
    segment = make_segment(crawl, fetches=[fetch(A)], pages=[page(A)], links=[link(A, C)], steps=[])
    put(segment.crawl_parse(), [link(B, "http://lost.example/")], "part-00002")
    put(segment.parse_data(), [page(B)], "part-00002")

    with pytest.raises(UsageError, match="not completely fetched"):
        updatedb(crawl, engine, CONFIG, [segment], now=NOW)
    assert pending(crawl) == []

    done = updatedb(crawl, engine, CONFIG, [segment], now=NOW, force=True)
    assert set(crawldb_of(crawl)) == {A, B, C}
    assert done.unparsed == (segment.name,)


def test_newest_of_two_fetches_counts_with_its_own_page(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A), known(B)])
    newer = make_segment(
        crawl,
        "20261101000000",
        fetches=[fetch(A, fetch_time=NOW), fetch(B, "gone", fetch_time=NOW - DAY)],
        pages=[page(A, signature=b"new")],
    )
    older = make_segment(
        crawl,
        "20261102000000",
        fetches=[fetch(A, fetch_time=NOW - DAY), fetch(B, fetch_time=NOW - DAY)],
        pages=[page(A, "failed", signature=b"old"), page(B, signature=b"b")],
    )

    updatedb(crawl, engine, CONFIG, [older, newer], now=NOW)

    found = crawldb_of(crawl)
    assert (found[A]["status"], found[A]["signature"]) == ("fetched", b"new")
    # At equal times the later segment counts.
    assert (found[B]["status"], found[B]["signature"]) == ("fetched", b"b")


def test_redirect_target_is_added_with_its_sources_metadata(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    segment = make_segment(crawl, fetches=[fetch(A, "redir_perm", to=B, metadata={"topic": "news"})])

    updatedb(crawl, engine, CONFIG, [segment], now=NOW)

    found = crawldb_of(crawl)
    assert (found[A]["status"], found[B]["status"]) == ("redir_perm", "unfetched")
    assert (found[B]["score"], found[B]["metadata"]) == (0.0, [("topic", "news")])
    assert found[B]["fetch_time"] == NOW


def test_no_urls_are_added_if_additions_are_off(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    segment = make_segment(crawl, fetches=[fetch(A)], links=[link(A, C)])

    done = updatedb(crawl, engine, CONFIG, [segment], now=NOW, additions=False)

    assert (set(crawldb_of(crawl)), done.new) == ({A}, 0)


def test_gone_and_orphaned_urls_are_purged_if_configured(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A), known(B, "gone"), known(C, "orphan")])
    segment = make_segment(crawl, fetches=[fetch(A, "gone")])
    config = load(overrides=["db.update_purge_404=true", "db.update_purge_orphans=true"])

    done = updatedb(crawl, engine, config, [segment], now=NOW)

    # What is gone only now is dropped the next time.
    assert {url: row["status"] for url, row in crawldb_of(crawl).items()} == {A: "gone"}
    assert (done.new, done.urls) == (0, 1)


def test_filters_apply_to_all_inputs(engine: Engine, tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("-drop\n+.\n")
    config = load(overrides=['urlfilter.filters=["regex"]', f"urlfilter.regex_file={rules}"])
    crawl = make_crawl(tmp_path / "crawl", [known(A), known(A + "drop")])
    segment = make_segment(
        crawl,
        fetches=[fetch(A, "redir_temp", to=A + "drop/redirect")],
        links=[link(A, B), link(A, B + "drop")],
    )

    updatedb(crawl, engine, config, [segment], now=NOW, filter=True)

    assert set(crawldb_of(crawl)) == {A, B}


def test_newest_record_of_urls_with_the_same_normal_form_is_kept(engine: Engine, tmp_path: Path) -> None:
    rules = tmp_path / "rules.xml"
    rules.write_text(
        "<regex-normalize><regex><pattern>//z\\.</pattern><substitution>//a.</substitution></regex></regex-normalize>"
    )
    config = load(overrides=['urlnormalizer.normalizers=["regex"]', f"urlnormalizer.regex_file={rules}"])
    moved = "http://z.example/"
    crawl = make_crawl(tmp_path / "crawl", [known(A, score=1.0), known(moved, score=7.0, fetch_time=NOW)])
    segment = make_segment(crawl, fetches=[fetch(B)], links=[link(B, moved, 0.5), link(B, A, 0.25)])

    done = updatedb(crawl, engine, config, [segment], now=NOW, normalize=True)

    found = crawldb_of(crawl)
    assert set(found) == {A, B}
    assert found[A]["score"] == 7.75
    assert (found[A]["host"], done.new) == ("a.example", 1)


def test_only_the_best_links_up_to_the_limit_count(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A, score=0.0)])
    links = [link(f"http://s{number}.example/", A, float(number)) for number in range(10)]
    segment = make_segment(crawl, links=links)

    updatedb(crawl, engine, load(overrides=["db.update_max_inlinks=3"]), [segment], now=NOW)

    assert crawldb_of(crawl)[A]["score"] == 9 + 8 + 7


def test_column_of_a_plugin_added_later_is_stored(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    config = load(overrides=['scoring.filters=["depth", "opic"]'])
    extra = plugin_columns(chain("scoring", config))
    segment = make_segment(crawl, fetches=[fetch(A)], links=[link(A, B, depth=4, max_depth=9)], extra=extra)

    updatedb(crawl, engine, config, [segment], now=NOW)

    found = crawldb_of(crawl, extra)
    assert (found[A]["depth"], found[B]["depth"], found[B]["max_depth"]) == (None, 4, 9)


def test_no_segment_is_an_error_and_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])

    with pytest.raises(UsageError, match="no segment given"):
        updatedb(crawl, engine, CONFIG, [], now=NOW)

    assert Table.open(crawl.crawldb).version == 1


ROW_BY_ROW = """
from msgspec.structs import replace
from scoter.builtin.schedules import AdaptiveFetchSchedule
from scoter.builtin.scoring import DepthScoring, OpicScoring
from scoter.core.datum import DbStatus
from scoter.plugins import Column

class Schedule(AdaptiveFetchSchedule):
    first_columns = fetched_columns = retry_columns = gone_columns = force_columns = None

class Opic(OpicScoring):
    initial_columns = update_columns = None

class Depth(DepthScoring):
    update_columns = None

class Watching:
    columns = (Column("met", "string"), Column("most", "int64", merge="max"), Column("some", "float64", merge="first"))
    def __init__(self, setup): pass
    def initial(self, url, datum):
        return replace(datum, extra={**datum.extra, "met": url.host})
    def update(self, url, old, new, links, now):
        told = " ".join(f"{each.score:g}{dict(each.metadata)}" for each in links)
        return replace(new, extra={**new.extra, "met": f"{new.extra.get('met')} {told} {old is None} {now}"})
    def orphaned(self, url, datum, now):
        return replace(datum, status=DbStatus.ORPHAN, extra={**datum.extra, "most": 99})
"""


@pytest.fixture
def row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install plug-ins with only row hooks."""
    folder = tmp_path / "packages"
    info = folder / "rowbyrow-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "rowbyrow.py").write_text(ROW_BY_ROW)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rowbyrow\nVersion: 1.0\n")
    scoring = "slow-opic = rowbyrow:Opic\nslow-depth = rowbyrow:Depth\nwatching = rowbyrow:Watching"
    (info / "entry_points.txt").write_text(
        f"[scoter.schedule]\nslow = rowbyrow:Schedule\n[scoter.scoring]\n{scoring}\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    installed.cache_clear()
    yield
    installed.cache_clear()
    sys.modules.pop("rowbyrow", None)


@pytest.mark.usefixtures("row_by_row")
@pytest.mark.parametrize(
    "overrides",
    [
        ["db.schedule=slow"],
        ["db.schedule=slow", 'scoring.filters=["slow-depth", "slow-opic"]'],
        ['scoring.filters=["opic", "slow-depth"]'],
        ['scoring.filters=["slow-opic", "watching", "depth"]', "db.update_max_inlinks=2"],
    ],
    ids=["schedule", "everything", "one after a column face", "one between"],
)
def test_plugins_without_column_hooks_are_called_row_by_row(
    engine: Engine, tmp_path: Path, overrides: list[str], told: Callable[[], Told]
) -> None:
    config, rows = load(overrides=overrides), told()
    extra = plugin_columns(chain("scoring", config))
    crawl: CrawlDir = make_crawl(tmp_path / "crawl", rows.crawldb, extra=extra)
    segment = make_segment(crawl, fetches=rows.fetches, pages=rows.pages, links=rows.links, extra=extra)

    updatedb(crawl, engine, config, [segment], now=NOW)

    assert_same(crawldb_of(crawl, extra), truth(rows, config, NOW))


@pytest.fixture
def told() -> Callable[[], Told]:
    """A crawl with records in every state."""

    def rows() -> Told:
        statuses = ("unfetched", "fetched", "gone", "redir_temp", "orphan")
        urls = [f"http://h{number}.example/" for number in range(20)]
        return Told(
            crawldb=[
                known(url, statuses[n % 5], depth=n % 4 or None, max_depth=9 if n % 4 else None, most=n, some=0.5)
                for n, url in enumerate(urls[:14])
            ],
            fetches=[
                fetch(url, ("success", "retry", "gone", "success")[n % 4], signature=b"s", retries=n % 3, met="before")
                for n, url in enumerate(urls[::2])
            ]
            + [fetch("http://moved.example/", "redir_temp", to=urls[19], metadata={"k": "v"}, depth=2, max_depth=5)],
            pages=[page(urls[0], "failed"), page(urls[6], signature=b"other"), page(urls[8], "redirect")],
            links=[
                link(urls[n % 5], urls[(n * 7) % 18], n / 8, depth=n % 5 + 1, max_depth=9, most=n, some=n / 2)
                for n in range(40)
            ],
        )

    return rows


def test_unparsed_segment_is_applied_and_reported(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    segment = make_segment(crawl, fetches=[fetch(A)], steps=[FETCHED])

    done = updatedb(crawl, engine, CONFIG, pending(crawl), now=NOW)

    assert (done.segments, done.unparsed) == ((segment.name,), (segment.name,))
