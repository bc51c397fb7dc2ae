"""The commands export and corpus as people use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, run
from tests.export.crawls import A, B, crawl_with_archive, lines

from scoter.batch.crawldir.directory import CrawlDir
from scoter.cli.export import ShardStatus

__all__ = ["run"]


@pytest.fixture(autouse=True)
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_with_archive(tmp_path / "mycrawl")


def test_export_reports_what_it_wrote_and_then_that_it_is_complete(run: Run) -> None:
    first = run("export", "mycrawl", "out", "--format", "csv", "--shard-size", "2")
    again = run("export", "mycrawl", "out", "--format", "csv", "--shard-size", "2")

    assert first.out.startswith("Exported 3 pages in 2 files, ")
    assert again.out.startswith("out is complete: 3 pages in 2 files, ")


def test_options_reach_the_export(run: Run, tmp_path: Path) -> None:
    options = ("--where", "host != 'c.org'", "--fields", "url,title", "--include-duplicates", "--include-noindex")
    done = run("export", "mycrawl", "out", "--format", "jsonl", "--json", *options)

    assert json.loads(done.out)["pages"] == 4
    assert lines(tmp_path / "out")[0] == {"url": A, "title": f"Title of {A}"}


def test_files_of_pages_are_counted_too(run: Run) -> None:
    assert run("export", "mycrawl", "out", "--format", "markdown").out.startswith("Exported 3 pages in 4 files, ")


def test_corpus_has_a_dry_run(run: Run, tmp_path: Path) -> None:
    done = run("corpus", "mycrawl", "out", "--dry-run")

    assert done.code == 0
    assert "corpus.min_words                      3" in done.out
    assert not (tmp_path / "out").exists()


def test_corpus_is_written(run: Run, tmp_path: Path) -> None:
    lax = ("-D", "corpus.min_words=off", "-D", "corpus.min_stop_words=off", "-D", "corpus.min_punctuated_lines=off")
    done = run("corpus", "mycrawl", "out", *lax, "-D", "corpus.max_short_lines=off", "--where", f"url == '{B}'")

    assert done.out.startswith("Exported 1 page in 1 file, ")
    assert (tmp_path / "out" / "data" / "train-00000.parquet").exists()


def test_progress_has_rate_and_time_left() -> None:
    shown: list[str] = []

    class Status:
        show = staticmethod(shown.append)

    class Session:
        command = "export"
        status = Status()

    seconds = iter([0.0, 10.0])
    progress = ShardStatus(Session(), clock=lambda: next(seconds))  # type: ignore[arg-type]
    progress(1_000, 4_000)
    progress(2_000, 4_000)

    assert shown[-1] == "export ██████████░░░░░░░░░░ 50 % · 2,000 of 4,000 pages · 100/s · 20 s left"
