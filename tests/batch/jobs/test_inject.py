"""inject: new seeds, and what happens to known URLs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.batch.making import DAY, MONTH, NOW, crawldb_of, known, make_crawl

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.inject import InjectResult, inject
from scoter.config import load
from scoter.engine import Engine
from scoter.errors import UsageError
from scoter.plugins import chain
from scoter.store.tables import Table

CONFIG = load(None, {}, [])
A, B, C = "http://a.org/", "http://b.org/", "http://c.org/"


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return CrawlDir.create(tmp_path / "crawl", NOW)


@pytest.fixture
def old(tmp_path: Path) -> CrawlDir:
    """A crawl with one fetched page."""
    fetched = known(A, "fetched", score=5.0, interval=77, fetch_time=NOW + DAY, metadata={"k": "old", "l": "old"})
    return make_crawl(tmp_path / "old", [fetched])


def put(crawl: CrawlDir, engine: Engine, *seeds: str, settings: tuple[str, ...] = (), **options: Any) -> InjectResult:
    return inject(crawl, engine, load(None, {}, settings), seeds, now=NOW, **options)


def version(crawl: CrawlDir) -> int:
    with Table.open(crawl.crawldb) as table:
        return table.version


def test_new_seed_is_due_immediately(crawl: CrawlDir, engine: Engine) -> None:
    done = put(crawl, engine, "HTTP://A.org", f"{B}\tnutch.score=7\tnutch.fetchInterval=60\tlang=en")
    assert (done.new, done.known) == (2, 0)
    rows = crawldb_of(crawl)
    plain: dict[str, Any] = {
        "status": "unfetched",
        "fetch_time": NOW,
        "retries": 0,
        "signature": None,
        "modified_time": None,
    }
    assert rows[A] == known(A, **plain, score=1.0, interval=MONTH, metadata=None)
    assert rows[B] == known(B, **plain, score=7.0, interval=60, metadata=[("lang", "en")])


def test_lines_that_are_not_urls_are_listed_with_their_positions(
    crawl: CrawlDir, engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "seeds"
    file.write_text("nonsense\n" * 30 + A + "\thm\n" + B)
    done = put(crawl, engine, str(file))
    assert (done.new, done.not_urls, done.bad_fields) == (2, 30, 1)
    assert len(done.complaints) == 20
    assert done.complaints[4].where == f"{file}:5"


def test_known_url_is_left_unchanged(old: CrawlDir, engine: Engine) -> None:
    before = crawldb_of(old)[A]
    done = put(old, engine, f"{A}\tnutch.score=9\tk=new", B)
    assert (done.new, done.known, done.changed) == (1, 1, 0)
    assert crawldb_of(old)[A] == before


def test_overwrite_replaces_the_record_of_a_known_url(old: CrawlDir, engine: Engine) -> None:
    done = put(old, engine, f"{A}\tm=new", overwrite=True)
    assert (done.new, done.known, done.changed) == (0, 1, 1)
    row = crawldb_of(old)[A]
    assert (row["status"], row["score"], row["fetch_time"]) == ("unfetched", 1.0, NOW)
    assert row["metadata"] == [("m", "new")]


def test_update_merges_metadata_and_sets_only_given_score_and_interval(old: CrawlDir, engine: Engine) -> None:
    put(old, engine, f"{A}\tk=new\tm=new", f"{B}\tk=new", update=True)
    row = crawldb_of(old)[A]
    assert (row["status"], row["score"], row["interval"], row["fetch_time"]) == ("fetched", 5.0, 77, NOW + DAY)
    assert dict(row["metadata"]) == {"k": "new", "l": "old", "m": "new"}
    assert dict(crawldb_of(old)[B]["metadata"]) == {"k": "new"}

    put(old, engine, f"{A}\tnutch.score=2\tnutch.fetchInterval=99", update=True)
    row = crawldb_of(old)[A]
    assert (row["status"], row["score"], row["interval"]) == ("fetched", 2.0, 99)


def test_settings_apply_to_known_urls_without_options(old: CrawlDir, engine: Engine) -> None:
    assert put(old, engine, A, settings=("db.injector_update=true",)).changed == 1
    assert put(old, engine, A, settings=("db.injector_update=true",), update=False).changed == 0
    assert crawldb_of(old)[A]["status"] == "fetched"
    put(old, engine, A, settings=("db.injector_overwrite=true",), update=True)
    assert crawldb_of(old)[A]["status"] == "unfetched"


def test_first_of_several_equal_seeds_counts(crawl: CrawlDir, engine: Engine) -> None:
    done = put(crawl, engine, f"{A}\tk=1", f"{A}#top\tk=2\tl=2", f"{A}\tk=3")
    assert done.new == 1
    assert crawldb_of(crawl)[A]["metadata"] == [("k", "1")]


def test_filters_and_normalisers_apply_unless_turned_off(crawl: CrawlDir, engine: Engine) -> None:
    photo = "http://a.org/x.jpg"
    settings = ("urlfilter.filters=suffix",)
    assert put(crawl, engine, photo, settings=settings).filtered == 1
    assert put(crawl, engine, photo, settings=settings, filter=False).new == 1


def test_seeds_without_a_valid_url_write_nothing(
    crawl: CrawlDir, old: CrawlDir, engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "seeds").write_text("no\n")
    done = put(crawl, engine, str(tmp_path / "seeds"))
    assert (done.new, done.known, done.not_urls) == (0, 0, 1)
    assert not crawl.crawldb.exists()
    put(old, engine, str(tmp_path / "seeds"), overwrite=True)
    assert version(old) == 1


def test_only_known_seeds_write_no_version(old: CrawlDir, engine: Engine) -> None:
    assert put(old, engine, A).known == 1
    assert version(old) == 1


def test_missing_file_changes_nothing(old: CrawlDir, engine: Engine) -> None:
    with pytest.raises(UsageError):
        put(old, engine, B, "nowhere.txt")
    assert set(crawldb_of(old)) == {A}
    assert version(old) == 1


def test_applied_segments_stay_applied(tmp_path: Path, engine: Engine) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    with Table.write(crawl.crawldb, schemas.CRAWLDB, writer="test") as new:
        new.commit(applied=["20260101000000"])
    put(crawl, engine, B)
    with Table.open(crawl.crawldb) as table:
        assert table.manifest.applied == ("20260101000000",)


def test_plugins_score_seeds_and_their_columns_are_kept(tmp_path: Path, engine: Engine) -> None:
    # given a crawldb from before the plug-in
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    settings = ('scoring.filters=["opic","depth"]',)
    columns = schemas.plugin_columns(chain("scoring", load(None, {}, settings)))

    put(crawl, engine, f"{B}\t_maxdepth_=3", settings=settings)

    rows = crawldb_of(crawl, columns)
    assert (rows[B]["depth"], rows[B]["max_depth"]) == (1, 3)
    assert rows[A]["depth"] is None

    put(crawl, engine, A, settings=settings, update=True)
    assert crawldb_of(crawl, columns)[A]["depth"] == 1


def test_filter_normalize_all_rewrites_the_whole_crawldb(tmp_path: Path, engine: Engine) -> None:
    # given two records that become one URL, of which the second was fetched last, and one to be dropped
    first = known("http://a.org/?PHPSESSID=1234567890abcdef1234567890abcdef", "fetched", score=1.0, fetch_time=NOW)
    second = known(A, "fetched", score=2.0, fetch_time=NOW + timedelta(hours=1))
    unfetched = known(
        "http://a.org/?PHPSESSID=ffffffffffffffffffffffffffffffff", score=3.0, fetch_time=NOW + timedelta(days=60)
    )
    crawl = make_crawl(tmp_path / "crawl", [first, second, unfetched, known("http://b.org/x.jpg"), known(C)])
    settings = ("urlfilter.filters=suffix", "urlnormalizer.normalizers=regex")

    done = put(crawl, engine, C, settings=settings, filter_normalize_all=True)

    assert done.dropped == 3
    rows = crawldb_of(crawl)
    assert set(rows) == {A, C}
    assert rows[A]["score"] == 2.0
    assert put(crawl, engine, C, settings=settings, filter_normalize_all=True).dropped == 0
    assert version(crawl) == 2
