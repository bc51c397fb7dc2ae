"""The corpus for language models: what is left out, and what the files hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds
import pytest
from tests.batch.crawls import NOW, crawl_at, datum, write_crawldb
from tests.export.crawls import add_segment
from tests.export.test_quality import prose

from scoter.batch.crawldir.directory import CrawlDir
from scoter.config import load
from scoter.engine.duckdb import DuckDbEngine
from scoter.export.corpus import CorpusOptions, CorpusReport, corpus, examine
from scoter.export.folder import ExportManifest
from scoter.export.page_rows import ExportSource

GOOD, TWIN, NEAR, SHORT, OTHER = (f"http://{name}.org/" for name in ("good", "twin", "near", "short", "other"))


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> CrawlDir:
    crawl = crawl_at(tmp_path_factory.mktemp("crawl") / "crawl")
    text = prose(600)
    texts = {GOOD: text, TWIN: text, NEAR: f"{text}\nOne more line that is new.", SHORT: "Short.", OTHER: prose(300, 9)}
    write_crawldb(crawl, [datum(url, score=2.0 if url == TWIN else 1.0) for url in texts])
    add_segment(crawl, "20261115000001", texts)
    return crawl


def written(crawl: CrawlDir, out: Path, *overrides: str, **options: Any) -> ExportManifest:
    config = load(None, {}, list(overrides))
    with DuckDbEngine(out.parent / "engine", 2**28) as engine:
        return corpus(ExportSource(crawl, engine, config), out, CorpusOptions(**options), now=NOW).manifest


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
    assert [file.name for file in manifest.files] == ["data/train-00000.parquet", "data/train-00001.parquet"]
    counts = manifest.counts
    assert (counts["selected"], counts["poor"], counts["exact_duplicates"], counts["near_duplicates"]) == (5, 1, 1, 1)
    assert counts["words"] == sum(row["words"] for row in found)


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
        report = examine(source, tmp_path / "scratch", CorpusOptions(), now=NOW, progress=lambda done, total: None)

    assert isinstance(report, CorpusReport)
    assert report.broken["min_words"] == 1
    assert report.broken["max_words"] == 0
    assert (report.selected, report.kept) == (5, 2)


def test_kept_pages_are_the_same_in_any_parts(crawl: CrawlDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(crawl, tmp_path / "one")
    monkeypatch.setattr("scoter.export.corpus._CHUNK", 2)
    monkeypatch.setattr("scoter.export.page_rows.BATCH", 1)

    written(crawl, tmp_path / "two")

    files = [tmp_path / name / "data" / "train-00000.parquet" for name in ("one", "two")]
    assert files[0].read_bytes() == files[1].read_bytes()
