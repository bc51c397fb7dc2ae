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
    lines = [line.split() for line in done.out.splitlines()]
    assert ["fewer", "than", "50", "words", "5", "0", "min_words", A] in lines
    assert done.out.endswith("\n5 pages: 0 kept, 5 dropped.\n")
    assert not (tmp_path / "out").exists()


def test_dry_run_of_corpus_writes_a_report_on_request(run: Run, tmp_path: Path) -> None:
    done = run("corpus", "mycrawl", "out", "--dry-run", "--report", "sample.html", "--json")

    assert json.loads(done.out)["kept"] == 0
    assert "fewer than 50 words" in (tmp_path / "sample.html").read_text()
    assert run("corpus", "mycrawl", "out", "--report", "sample.html").code == 2


def test_corpus_that_keeps_nothing_fails_and_says_why(run: Run, tmp_path: Path) -> None:
    done = run("corpus", "mycrawl", "out")

    assert done.code == 2
    assert "no page is kept: each of them breaks a rule" in done.err
    assert (tmp_path / "out" / "sample.html").exists()


def test_corpus_of_no_selected_page_is_an_error(run: Run, tmp_path: Path) -> None:
    done = run("corpus", "mycrawl", "out", "--where", "language == 'xx'")

    assert done.code == 2
    assert "no page is selected" in done.err
    assert not (tmp_path / "out").exists()


def test_corpus_is_written(run: Run, tmp_path: Path) -> None:
    lax = ("min_words", "min_stop_words", "min_prose")
    off = [word for name in lax for word in ("-D", f"corpus.{name}=off")]
    done = run("corpus", "mycrawl", "out", *off, "--where", f"url == '{B}'")
    again = run("corpus", "mycrawl", "out", *off, "--where", f"url == '{B}'")
    assert done.out.startswith("1 page: 1 kept, 0 dropped.\nWrote 1 text in 1 file, ")
    assert "Read out/sample.html to judge" in done.err
    assert again.out.splitlines()[1].startswith("out is complete: 1 text in 1 file, ")
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
