"""The corpus for language models: what is left out, and what the files hold."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds
import pytest
from tests.batch.crawls import NOW, crawl_at, datum, write_crawldb
from tests.export.corpus.test_quality import prose
from tests.export.crawls import add_segment

from scoter.batch.crawldir.directory import CrawlDir
from scoter.config import load
from scoter.engine.duckdb import DuckDbEngine
from scoter.errors import UsageError
from scoter.export.corpus.job import corpus, examine
from scoter.export.corpus.judged import CorpusOptions
from scoter.export.corpus.report import CorpusReport
from scoter.export.folder import ExportManifest
from scoter.export.page_rows import ExportSource
from scoter.export.selection import PageFilter

GOOD, TWIN, NEAR, SHORT, OTHER = (f"http://{name}.org/" for name in ("good", "twin", "near", "short", "other"))


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> CrawlDir:
    crawl = crawl_at(tmp_path_factory.mktemp("crawl") / "crawl")
    text = prose(600)
    texts = {GOOD: text, TWIN: text, NEAR: f"{text}\nOne more line that is new.", SHORT: "Short.", OTHER: prose(300, 9)}
    write_crawldb(crawl, [datum(url, score=2.0 if url == TWIN else 1.0) for url in texts])
    about = {"license": "https://licences.example/by", "sources": {"license": "link"}}
    add_segment(crawl, "20261115000001", texts, about=json.dumps(about))
    return crawl


def written(crawl: CrawlDir, out: Path, *overrides: str, sample: int = 50, **options: Any) -> ExportManifest:
    config = load(None, {}, list(overrides))
    with DuckDbEngine(out.parent / "engine", 2**28) as engine:
        return corpus(
            ExportSource(crawl, engine, config), out, CorpusOptions(**options), now=NOW, sample=sample
        ).manifest


def rows(out: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ds.dataset(sorted(map(str, out.glob("data/*.parquet")))).to_table().to_pylist()
    return found


def test_poor_and_repeated_texts_are_left_out(crawl: CrawlDir, tmp_path: Path) -> None:
    manifest = written(crawl, tmp_path / "out", shard_size=1)

    found = rows(tmp_path / "out")
    assert [row["url"] for row in found] == [OTHER, TWIN]  # the best of its group
    assert found[1]["text"] == prose(600)
    assert found[1]["language"] == "en"
    assert found[1]["words"] == len(prose(600).split())
    assert [file.name for file in manifest.files] == [
        "data/train-00000.parquet",
        "data/train-00001.parquet",
        "dropped.parquet",
        "README.md",
        "sample.html",
    ]
    counts = manifest.counts
    assert (counts["selected"], counts["poor"], counts["exact_duplicates"], counts["near_duplicates"]) == (5, 1, 1, 1)
    assert counts["words"] == sum(row["words"] for row in found)


def test_dropped_pages_are_listed_with_their_reasons_and_what_they_repeat(crawl: CrawlDir, tmp_path: Path) -> None:
    written(crawl, tmp_path / "out")

    listed = {row["url"]: row for row in ds.dataset(tmp_path / "out" / "dropped.parquet").to_table().to_pylist()}
    assert {url: row["reasons"] for url, row in listed.items()} == {
        GOOD: ["same_text"],
        NEAR: ["near_duplicate"],
        SHORT: ["min_words", "min_stop_words", "min_prose"],
    }
    assert [listed[url]["duplicate_of"] for url in (GOOD, NEAR, SHORT)] == [TWIN, TWIN, ""]
    assert listed[SHORT]["words"] == 1


def test_text_that_is_near_another_only_by_a_chain_is_kept(tmp_path: Path) -> None:
    parts = [prose(60, number) for number in range(30)]
    chain = {f"http://chain.org/{at:02d}": "\n".join(parts[at : at + 15]) for at in range(16)}
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [datum(url, score=9.0 - at) for at, url in enumerate(chain)])
    add_segment(crawl, "20261115000001", chain)

    written(crawl, tmp_path / "strict")
    written(crawl, tmp_path / "lax", "corpus.min_similarity=0")

    assert len(rows(tmp_path / "lax")) == 1
    kept = {row["url"] for row in rows(tmp_path / "strict")}
    assert {"http://chain.org/00", "http://chain.org/15"} <= kept
    assert "http://chain.org/01" not in kept


def test_repeated_texts_that_are_kept_name_what_they_repeat(crawl: CrawlDir, tmp_path: Path) -> None:
    written(crawl, tmp_path / "out", keep_near_duplicates=True)

    assert {row["url"]: row["duplicate_of"] for row in rows(tmp_path / "out")} == {OTHER: "", TWIN: "", NEAR: TWIN}


def test_a_row_tells_where_its_page_is_archived_and_what_it_permits(crawl: CrawlDir, tmp_path: Path) -> None:
    manifest = written(crawl, tmp_path / "out", form="jsonl")

    lines = (tmp_path / "out" / manifest.files[0].name).read_text().splitlines()
    row = next(each for each in map(json.loads, lines) if each["url"] == OTHER)
    assert row["sha256"] == hashlib.sha256(prose(300, 9).encode()).hexdigest()
    assert (row["license"], row["license_source"]) == ("https://licences.example/by", "link")
    assert row["warc_file"].endswith(".warc.gz")
    assert row["warc_length"] > 0
    assert (row["noarchive"], row["date"], row["fetched"]) == (False, "", NOW.strftime("%Y-%m-%dT%H:%M:%SZ"))


def test_pages_that_forbid_indexing_are_counted_like_those_that_break_a_rule(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [datum(OTHER)])
    add_segment(crawl, "20261115000001", {OTHER: prose(300)}, noindex=(OTHER,))

    counts = written(crawl, tmp_path / "out").counts
    assert (counts["kept"], counts["rules"][0]["rule"], counts["rules"][0]["example"]) == (0, "noindex", OTHER)
    assert written(crawl, tmp_path / "all", filter=PageFilter(noindex=True)).counts["kept"] == 1


def test_page_that_the_crawl_marked_as_a_duplicate_is_kept_only_without_its_original(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [datum(GOOD), datum(TWIN, "duplicate", score=9.0), datum(OTHER, "duplicate")])
    add_segment(crawl, "20261115000001", {GOOD: prose(300), TWIN: prose(300), OTHER: prose(300, 9)})

    written(crawl, tmp_path / "out")

    assert {row["url"] for row in rows(tmp_path / "out")} == {GOOD, OTHER}


def test_corpus_of_no_page_is_an_error_that_leaves_nothing(crawl: CrawlDir, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no page is selected"):
        written(crawl, tmp_path / "out", filter=PageFilter(where="language == 'de'"))

    assert not (tmp_path / "out").exists()


def test_duckdb_reads_a_corpus_directly(crawl: CrawlDir, tmp_path: Path) -> None:
    written(crawl, tmp_path / "out")

    query = f"SELECT count(*), min(words) FROM '{tmp_path / 'out' / 'data' / '*.parquet'}' WHERE language = 'en'"
    assert duckdb.sql(query).fetchone() == (2, len(prose(300, 9).split()))


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"keep_near_duplicates": True}, {OTHER, TWIN, NEAR}),
        ({"keep_duplicates": True}, {OTHER, TWIN, NEAR, GOOD}),
    ],
)
def test_repeated_texts_can_be_kept(crawl: CrawlDir, tmp_path: Path, options: dict[str, Any], kept: set[str]) -> None:
    written(crawl, tmp_path / "out", **options)

    assert {row["url"] for row in rows(tmp_path / "out")} == kept


def test_thresholds_are_settings(crawl: CrawlDir, tmp_path: Path) -> None:
    written(crawl, tmp_path / "out", "corpus.min_words=500")

    assert [row["url"] for row in rows(tmp_path / "out")] == [TWIN]


def test_markdown_is_taken_on_request(crawl: CrawlDir, tmp_path: Path) -> None:
    written(crawl, tmp_path / "out", text="markdown")

    assert rows(tmp_path / "out")[0]["text"] == f"# {prose(300, 9)}"


def test_dry_run_counts_pages_by_rule(crawl: CrawlDir, tmp_path: Path) -> None:
    with DuckDbEngine(tmp_path / "engine", 2**28) as engine:
        source = ExportSource(crawl, engine, load(None, {}, []))
        report = examine(source, tmp_path / "scratch", CorpusOptions(), now=NOW)

    assert isinstance(report, CorpusReport)
    rules = {rule.rule: rule for rule in report.rules}
    short = rules["min_words"]
    assert (short.pages, short.only, short.example) == (1, 0, SHORT)
    assert (short.reason, short.option) == ("fewer than 50 words", "-D corpus.min_words=off")
    assert rules["max_words"].pages == 0
    assert rules["near_duplicate"].example == NEAR
    assert (report.selected, report.kept) == (5, 2)


def test_kept_pages_are_the_same_in_any_parts(crawl: CrawlDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(crawl, tmp_path / "one")
    monkeypatch.setattr("scoter.export.corpus.measurements._CHUNK", 2)
    monkeypatch.setattr("scoter.export.page_rows.BATCH", 1)

    written(crawl, tmp_path / "two")

    files = [tmp_path / name / "data" / "train-00000.parquet" for name in ("one", "two")]
    assert files[0].read_bytes() == files[1].read_bytes()
