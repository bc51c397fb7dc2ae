"""generate: which URLs go into which segment, and the reasons if none does."""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import write_crawldb, write_linkdb
from tests.batch.making import DAY, NOW, known, make_crawl

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.fetchlists.lists import list_number
from scoter.batch.jobs.generate import GenerateOptions, GenerateResult, generate
from scoter.batch.urls.refusals import note_settings
from scoter.config import load
from scoter.core.url import canonical
from scoter.engine import Engine
from scoter.errors import UserError
from scoter.plugins import chain
from scoter.store.tables import Table


def run(crawl: CrawlDir, engine: Engine, *settings: str, now: datetime = NOW, **options: Any) -> GenerateResult:
    wanted = GenerateOptions(**{"lists": 1, **options})
    return generate(crawl, engine, load(None, {}, settings), now=now, options=wanted)


def urls(crawl: CrawlDir, name: str) -> set[str]:
    parts = crawl.segment(name).crawl_generate()
    return {url for batch in parts.scan(["url"]) for url in batch.column("url").to_pylist()}


def generated(crawl: CrawlDir, done: GenerateResult) -> list[set[str]]:
    return [urls(crawl, name) for name in done.segments]


def pages(host: str, count: int, **columns: Any) -> list[dict[str, Any]]:
    return [known(f"http://{host}/{number}", score=float(count - number), **columns) for number in range(count)]


def test_due_urls_go_into_a_segment_with_their_records(tmp_path: Path, engine: Engine) -> None:
    # given
    due = known("http://a.org/", "fetched", score=2.5, signature=b"\x01", retries=2, metadata={"k": "v"})
    due["modified_time"] = NOW - 3 * DAY
    crawl = make_crawl(tmp_path / "crawl", [due, known("http://b.org/", fetch_time=NOW + DAY)])

    # when
    done = run(crawl, engine)

    # then
    assert (done.urls, done.known, list(done.segments)) == (1, 2, ["20261115120000"])
    segment = crawl.segment("")
    rows = [row for batch in segment.crawl_generate().scan() for row in batch.to_pylist()]
    assert rows == [{**due, "list": 0, "delay_ms": None, "metadata": [("k", "v")]}]
    about = segment.info()
    assert (about.created, about.lists, about.urls, about.made_by, about.partition) == (NOW, 1, 1, "generate", "host")


def test_fetch_lists_are_balanced_and_keep_hosts_whole(tmp_path: Path, engine: Engine) -> None:
    sizes = {"a.org": 10, "b.org": 10, "c.org": 10, "d.org": 10, "e.org": 6, "f.org": 4, "g.org": 30, "h.org": 10}
    crawl = make_crawl(tmp_path / "crawl", [page for host, count in sizes.items() for page in pages(host, count)])

    done = run(crawl, engine, lists=3, top_n=45, max_segments=2)

    for name in done.segments:
        segment = crawl.segment(name)
        rows = [row for batch in segment.crawl_generate().scan() for row in batch.to_pylist()]
        loads = Counter(row["list"] for row in rows)
        largest = max(Counter(row["host"] for row in rows).values())
        assert max(loads.values()) <= max(largest, -(-len(rows) // 3) + 5)
        assert len({(row["host"], row["list"]) for row in rows}) == len({row["host"] for row in rows})
        # then a worker finds the same list for a URL, whether it is in a list or not
        about = segment.info()
        division = (about.partition, about.lists, about.buckets)
        assert all(list_number(canonical(row["url"]), *division) == row["list"] for row in rows)
        assert {list_number(canonical(f"http://new{each}.org/"), *division) for each in range(99)} == {0, 1, 2}


def test_four_hosts_of_one_size_fill_four_fetch_lists(tmp_path: Path, engine: Engine) -> None:
    hosts = [f"www.site{number}.org" for number in range(4)]
    crawl = make_crawl(tmp_path / "crawl", [page for host in hosts for page in pages(host, 20)])

    run(crawl, engine, lists=4, top_n=40)

    lists = [row["list"] for batch in crawl.segment("").crawl_generate().scan() for row in batch.to_pylist()]
    assert Counter(lists) == {0: 10, 1: 10, 2: 10, 3: 10}


def test_urls_are_ordered_by_score_then_by_key(tmp_path: Path, engine: Engine) -> None:
    rows = [*pages("b.org", 3), *pages("a.org", 2)]  # scores 3, 2, 1 and 2, 1
    crawl = make_crawl(tmp_path / "crawl", rows)
    assert generated(crawl, run(crawl, engine, top_n=2)) == [{"http://b.org/0", "http://a.org/0"}]


def test_top_n_applies_to_each_segment_and_names_ascend(tmp_path: Path, engine: Engine) -> None:
    crawl = make_crawl(tmp_path / "crawl", pages("a.org", 5))
    done = run(crawl, engine, top_n=2, max_segments=4)
    assert list(done.segments) == ["20261115120000", "20261115120001", "20261115120002"]
    assert [sorted(url[-1] for url in each) for each in generated(crawl, done)] == [["0", "1"], ["2", "3"], ["4"]]


def test_host_over_its_limit_continues_in_the_next_segment_or_is_dropped(tmp_path: Path, engine: Engine) -> None:
    crawl = make_crawl(tmp_path / "crawl", [*pages("a.org", 5), *pages("b.org", 1)])
    done = run(crawl, engine, "generate.max_count=2", max_segments=2)
    assert generated(crawl, done) == [
        {"http://a.org/0", "http://a.org/1", "http://b.org/0"},
        {"http://a.org/2", "http://a.org/3"},
    ]
    assert done.skipped == {"over the limit of their host": 1}


def test_limit_may_count_by_domain(tmp_path: Path, engine: Engine) -> None:
    crawl = make_crawl(tmp_path / "crawl", [*pages("a.x.org", 3), *pages("b.x.org", 2)])
    done = run(crawl, engine, "generate.max_count=2", "generate.count_mode=domain")
    assert generated(crawl, done) == [{"http://a.x.org/0", "http://a.x.org/1"}]


def test_filters_run_in_order_until_enough_urls_are_picked(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given many candidates that the filter drops, before the few that it keeps
    monkeypatch.setattr("scoter.batch.jobs.generate.EXTRA", 1)
    bad = [known(f"http://a.org/{number}.jpg", score=10.0) for number in range(40)]
    crawl = make_crawl(tmp_path / "crawl", [*bad, *pages("b.org", 5)])
    settings = "urlfilter.filters=suffix"
    done = run(crawl, engine, settings, top_n=3)
    assert generated(crawl, done) == [{"http://b.org/0", "http://b.org/1", "http://b.org/2"}]
    assert done.skipped == {"dropped by filters": 40}
    assert run(crawl, engine, settings, top_n=3, filter=False).skipped == {}


def test_urls_of_a_queue_share_a_list_and_lists_are_shuffled(tmp_path: Path, engine: Engine) -> None:
    rows = [row for host in "abcdefgh" for row in pages(f"{host}.org", 20)]
    crawl = make_crawl(tmp_path / "crawl", rows)
    done = run(crawl, engine, lists=3)
    parts = crawl.segment("").crawl_generate()
    assert parts.finished() == [f"list-0000{number}.parquet" for number in range(3)]
    hosts: dict[str, set[int]] = {}
    in_order = []
    for batch in parts.scan(["host", "list", "url"]):
        for row in batch.to_pylist():
            hosts.setdefault(row["host"], set()).add(row["list"])
            in_order.append(row["host"])
    assert all(len(lists) == 1 for lists in hosts.values())
    changes = sum(before != after for before, after in itertools.pairwise(in_order))
    assert changes > 40  # by host there would be 7
    assert done.urls == 160


def test_list_without_urls_is_written(tmp_path: Path, engine: Engine) -> None:
    crawl = make_crawl(tmp_path / "crawl", pages("a.org", 1))
    run(crawl, engine, lists=8)
    assert len(crawl.segment("").crawl_generate().finished()) == 8
    assert crawl.segment("").info().lists == 8


def test_partition_by_ip_makes_one_list(tmp_path: Path, engine: Engine) -> None:
    crawl = make_crawl(tmp_path / "crawl", pages("a.org", 1))
    run(crawl, engine, "fetch.queue_mode=ip", lists=8)
    assert (crawl.segment("").info().lists, crawl.segment("").info().partition) == (1, "ip")


def test_add_days_selects_urls_due_later(tmp_path: Path, engine: Engine) -> None:
    crawl = make_crawl(tmp_path / "crawl", pages("a.org", 1, fetch_time=NOW + 3 * DAY))
    assert run(crawl, engine, add_days=2).urls == 0
    assert run(crawl, engine, add_days=3).urls == 1


def test_add_days_may_exceed_the_maximum_date(tmp_path: Path, engine: Engine) -> None:
    crawl = make_crawl(tmp_path / "crawl", pages("a.org", 1, fetch_time=NOW + 3 * DAY))
    assert run(crawl, engine, add_days=10**12).urls == 1


def test_fetch_time_too_far_in_the_future_is_reset_to_now(tmp_path: Path, engine: Engine) -> None:
    far = known("http://a.org/", fetch_time=NOW + 91 * DAY, interval=200 * 86_400)
    crawl = make_crawl(tmp_path / "crawl", [far])
    run(crawl, engine)
    (row,) = [row for batch in crawl.segment("").crawl_generate().scan() for row in batch.to_pylist()]
    assert (row["fetch_time"], row["interval"]) == (NOW, 81 * 86_400)


@pytest.mark.parametrize(
    ("settings", "options", "taken"),
    [
        (["generate.min_score=2.0"], {}, {"http://a.org/2", "http://a.org/3"}),
        (["generate.restrict_status=fetched"], {}, {"http://a.org/2"}),
        (["generate.max_interval=1h"], {}, {"http://a.org/3"}),
        ([], {"expr": 'status == "fetched" or metadata.lang == "en"'}, {"http://a.org/2", "http://a.org/3"}),
        ([], {"expr": "fetchTime < now - 2d"}, {"http://a.org/3"}),
    ],
)
def test_each_selection_rule_skips_the_right_urls(
    tmp_path: Path, engine: Engine, settings: list[str], options: dict[str, Any], taken: set[str]
) -> None:
    rows = [
        known("http://a.org/1", score=1.0),
        known("http://a.org/2", "fetched", score=2.0),
        known("http://a.org/3", score=3.0, interval=60, metadata={"lang": "en"}, fetch_time=NOW - 3 * DAY),
    ]
    crawl = make_crawl(tmp_path / "crawl", rows)
    assert generated(crawl, run(crawl, engine, *settings, **options)) == [taken]


@pytest.mark.parametrize(("interval", "is_selected"), [(3_599, True), (3_600, True), (3_601, False)])
def test_url_with_interval_equal_to_min_interval_is_selected(
    tmp_path: Path, engine: Engine, interval: int, is_selected: bool
) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known("http://a.org/", interval=interval)])
    assert run(crawl, engine, "generate.max_interval=1h").urls == is_selected


@pytest.mark.parametrize(("days", "interval"), [(90, 90), (91, 81)])
def test_only_intervals_above_the_maximum_are_shortened(
    tmp_path: Path, engine: Engine, days: int, interval: int
) -> None:
    far = known("http://a.org/", fetch_time=NOW + 91 * DAY, interval=days * 86_400)
    crawl = make_crawl(tmp_path / "crawl", [far])
    run(crawl, engine)
    (row,) = [row for batch in crawl.segment("").crawl_generate().scan() for row in batch.to_pylist()]
    assert (row["fetch_time"], row["interval"]) == (NOW, interval * 86_400)


def test_result_without_due_urls_counts_the_reasons(tmp_path: Path, engine: Engine) -> None:
    rows = [
        known("http://a.org/1", fetch_time=NOW + 5 * DAY),
        known("http://a.org/2", fetch_time=NOW + 3 * DAY),
        known("http://a.org/3", score=-1.0),
        known("http://a.org/4", "gone"),
        known("http://a.org/5.jpg"),
    ]
    crawl = make_crawl(tmp_path / "crawl", rows)
    done = run(crawl, engine, "urlfilter.filters=suffix", expr='status != "gone"', top_n=5)
    assert (done.urls, done.known, done.next_due) == (0, 5, NOW + 3 * DAY)
    assert done.skipped == {
        "not due": 2,
        "not matched by the expression": 1,
        "below the minimum score": 1,
        "dropped by filters": 1,
    }
    assert crawl.all_segments() == []


def test_empty_crawldb_generates_nothing(tmp_path: Path, engine: Engine) -> None:
    done = run(make_crawl(tmp_path / "crawl"), engine)
    assert (done.urls, done.known, done.next_due) == (0, 0, None)


class TestMarks:
    """With ``generate.update_crawldb``, URLs waiting in a segment are not generated again."""

    MARK = "generate.update_crawldb=true"

    @pytest.fixture
    def crawl(self, tmp_path: Path) -> CrawlDir:
        return make_crawl(tmp_path / "crawl", pages("a.org", 4))

    def test_consecutive_segments_share_no_url(self, crawl: CrawlDir, engine: Engine) -> None:
        first, second = (run(crawl, engine, self.MARK, top_n=2) for _ in range(2))
        assert generated(crawl, first) == [{"http://a.org/0", "http://a.org/1"}]
        assert generated(crawl, second) == [{"http://a.org/2", "http://a.org/3"}]
        third = run(crawl, engine, self.MARK)
        assert (third.segments, third.skipped) == ({}, {"waiting in a segment": 4})
        assert run(crawl, engine, self.MARK, force=True).urls == 4

    def test_consecutive_segments_repeat_urls_without_the_setting(self, crawl: CrawlDir, engine: Engine) -> None:
        first, second = (run(crawl, engine, top_n=2) for _ in range(2))
        assert generated(crawl, first) == generated(crawl, second)

    def test_urls_are_released_after_mark_age(self, crawl: CrawlDir, engine: Engine) -> None:
        run(crawl, engine, self.MARK, top_n=2)
        late = NOW + 7 * DAY
        assert run(crawl, engine, self.MARK, now=late - timedelta(seconds=1), top_n=9).urls == 2
        assert run(crawl, engine, self.MARK, now=late).urls == 2

    def test_removing_a_segment_releases_its_urls(self, crawl: CrawlDir, engine: Engine) -> None:
        run(crawl, engine, self.MARK, top_n=2)
        shutil.rmtree(crawl.segment("").path)
        assert run(crawl, engine, self.MARK).urls == 4

    def test_applying_a_segment_releases_its_urls(self, crawl: CrawlDir, engine: Engine) -> None:
        applied = run(crawl, engine, self.MARK, top_n=2).segments
        with Table.write(crawl.crawldb, schemas.CRAWLDB, writer="test") as new:
            with new.part() as part, Table.open(crawl.crawldb) as old:
                for batch in old.scan():
                    part.write(batch)
            new.commit(applied=list(applied))
        assert run(crawl, engine, self.MARK).urls == 4

    def test_generate_mark_of_nutch_is_ignored(self, tmp_path: Path, engine: Engine) -> None:
        marked = known("http://a.org/", metadata={"_ngt_": "1794700800000"})
        assert run(make_crawl(tmp_path / "crawl", [marked]), engine, self.MARK).urls == 1


def test_plugin_columns_are_copied(tmp_path: Path, engine: Engine) -> None:
    setting = 'scoring.filters=["opic", "depth"]'
    columns = schemas.plugin_columns(chain("scoring", load(None, {}, [setting])))
    rows = [known("http://a.org/", depth=3, max_depth=4), known("http://b.org/", depth=1, max_depth=4)]
    crawl = make_crawl(tmp_path / "crawl", rows, extra=columns)
    done = run(crawl, engine, setting, top_n=1)
    found = [row for batch in crawl.segment("").crawl_generate(columns).scan() for row in batch.to_pylist()]
    assert [(row["url"], row["depth"], row["max_depth"]) for row in found] == [("http://b.org/", 1, 4)]
    assert done.urls == 1
    assert run(crawl, engine, setting, expr="depth == 3").urls == 1


def test_normalising_selects_the_host_limit_and_changes_no_url(tmp_path: Path, engine: Engine) -> None:
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("*.a.org a.org\n")
    crawl = make_crawl(tmp_path / "crawl", [*pages("w.a.org", 2), *pages("a.org", 2)])
    settings = ["generate.max_count=2", "urlnormalizer.normalizers=host", f"urlnormalizer.host_file={hosts}"]
    assert run(crawl, engine, *settings).urls == 4
    done = run(crawl, engine, *settings, normalize=True)
    assert generated(crawl, done) == [{"http://a.org/0", "http://w.a.org/0"}]


def test_failure_leaves_no_segment(tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = make_crawl(tmp_path / "crawl", pages("a.org", 2))
    note_settings(crawl, load(None, {}, ()))

    def fail(*_: object) -> None:
        raise UserError("the disk is full")

    monkeypatch.setattr("scoter.store.tables.local.LocalStorage.replace", fail)
    with pytest.raises(UserError, match="full"):
        run(crawl, engine)
    assert list(crawl.segments.iterdir()) == []
    assert list(crawl.scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_n": 0}, "--top-n: must be at least 1"),
        ({"lists": 0}, "--lists"),
        ({"max_segments": 0}, "--max-segments"),
        ({"expr": "scor > 1"}, "did you mean score"),
    ],
)
def test_invalid_argument_is_rejected_before_anything_is_written(
    tmp_path: Path, engine: Engine, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        run(make_crawl(tmp_path / "crawl", pages("a.org", 1)), engine, **options)


def test_name_of_a_removed_applied_segment_is_not_reused(tmp_path: Path, engine: Engine) -> None:
    crawl = make_crawl(tmp_path / "crawl", pages("a.org", 1))
    write_crawldb(crawl, pages("a.org", 1), applied=["20261115120000", "20261115120001"])
    write_linkdb(crawl, {}, applied=["20261115120002"])

    assert list(run(crawl, engine).segments) == ["20261115120003"]


def test_result_names_the_host_whose_delays_take_longest(tmp_path: Path, engine: Engine) -> None:
    crawl = make_crawl(tmp_path / "crawl", [*pages("a.org", 4), *pages("b.org", 3), *pages("own.org", 9)])
    found = run(
        crawl,
        engine,
        *("generate.max_count=100", "fetch.delay=5s", 'fetch.hosts=["b.org delay=60s"]', 'fetch.own_hosts=["own.org"]'),
    )
    uncounted = run(crawl, engine, now=NOW + DAY)

    assert found.slowest is not None
    assert (found.slowest.queue, found.slowest.urls, found.slowest.least(3)) == ("b.org", 3, timedelta(minutes=2))
    assert uncounted.slowest is None


def test_urls_over_the_limit_of_a_host_count_for_the_estimate(tmp_path: Path, engine: Engine) -> None:
    crawl = make_crawl(tmp_path / "crawl", [*pages("a.org", 9), *pages("b.org", 5)])

    found = run(crawl, engine, "generate.max_count=4")

    assert found.slowest is not None
    assert (found.urls, found.slowest.queue, found.slowest.urls, found.slowest.known) == (8, "a.org", 4, 9)


def test_urls_that_filters_drop_are_counted_with_an_example(tmp_path: Path, engine: Engine) -> None:
    (tmp_path / "rules").write_text("-a.org\n+.\n")
    crawl = make_crawl(tmp_path / "crawl", [*pages("a.org", 2), *pages("b.org", 1)])

    found = run(crawl, engine, 'urlfilter.filters=["regex"]', f"urlfilter.regex_file={tmp_path / 'rules'}")

    assert (found.urls, found.filtered) == (1, 2)
    assert "a.org" in found.a_filtered
