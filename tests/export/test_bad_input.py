"""Bad input and broken data: one clear message, and nothing half done."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at, datum, write_crawldb
from tests.cli.conftest import Run, run
from tests.disks import disk_of
from tests.export.crawls import EXPORTED, A, B, C, add_segment, crawl_with_archive, urls

from scoter.batch.crawldir.directory import CrawlDir
from scoter.store.warc import WarcReader

__all__ = ["run"]


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_with_archive(tmp_path / "mycrawl")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--where", "titel == 'x'"), "titel is not a column; did you mean title?\n  titel == 'x'\n  ^\n"),
        (("--where", "score >"), "  score >\n         ^\n"),
        (("--where", "score"), "the result is a number; it must be true or false"),
        (("--sql", "SELECT url FROM page"), "Catalog Error: Table with name page does not exist!"),
        (("--sql", "SELECT url FORM pages"), "LINE 1: SELECT url FORM pages"),
        (("--sql", "SELECT title FROM pages"), "the query returns no column url, but title"),
        (("--sql", "DROP TABLE segments"), "the session is read-only"),
        (("--fields", "url,titel"), "--fields: there is no field 'titel'; did you mean 'title'?"),
        (("--fields", "url,url"), "--fields: the field 'url' is given twice"),
        (("--type", "html"), "--type: 'html' is not a content type"),
        (("--shard-size", "0"), "0 is not in the range x>=1"),
        (("--layout", "flat"), "--layout: can only be used with --format files"),
        (("--where", "title == '\udc80'"), "--where: is not valid UTF-8"),
        (("--sql", "SELECT '\udc80' AS url"), "--sql: is not valid UTF-8"),
    ],
)
def test_wrong_options_are_explained_and_leave_nothing(
    crawl: CrawlDir, run: Run, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    done = run("export", "mycrawl", "out", "--format", "jsonl", *options)

    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "out").exists()


def test_corrected_query_can_use_the_same_directory(crawl: CrawlDir, run: Run, tmp_path: Path) -> None:
    assert run("export", "mycrawl", "out", "--format", "jsonl", "--sql", "SELECT ur FROM pages").code == 2

    assert run("export", "mycrawl", "out", "--format", "jsonl", "--sql", "SELECT url FROM pages").code == 0
    assert urls(tmp_path / "out") == EXPORTED


def test_output_must_be_a_new_directory_or_an_export(crawl: CrawlDir, run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "manifest.json").write_text('{"name": "a web app"}')
    (tmp_path / "empty").mkdir()

    assert "file: is not a directory" in run("export", "mycrawl", "file", "--format", "csv").err
    assert "folder: not empty, and not an export" in run("export", "mycrawl", "folder", "--format", "csv").err
    assert "mycrawl: not empty, and not an export" in run("export", "mycrawl", "mycrawl", "--format", "csv").err
    assert run("export", "mycrawl", "empty", "--format", "csv").code == 0
    assert (tmp_path / "file").read_text() == "mine"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(("form", "state"), [("jsonl", "parsed"), ("warc", "fetched")])
def test_crawl_without_segments_is_explained(run: Run, tmp_path: Path, form: str, state: str) -> None:
    write_crawldb(crawl_at(tmp_path / "new"), [datum(A)])

    done = run("export", "new", "out", "--format", form)

    assert done.code == 2
    assert f"there are no {state} segments\nRun: scoter crawl new" in done.err


def test_no_page_gives_an_empty_export(crawl: CrawlDir, run: Run, tmp_path: Path) -> None:
    done = run("export", "mycrawl", "out", "--format", "parquet", "--where", "host == 'nowhere.org'")

    assert (done.code, done.out) == (0, "Exported 0 pages in 0 files, 0 B, to out\n")
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["pages"] == 0


@pytest.mark.parametrize("form", ["warc", "wacz", "files", "commoncrawl"])
def test_damaged_record_is_skipped_counted_and_named(crawl: CrawlDir, run: Run, tmp_path: Path, form: str) -> None:
    (part,) = crawl.segments.glob("*001/content/*.warc.gz")
    with WarcReader(part) as reader:
        place = next(each.offset for each in reader if each.url == B)
    raw = bytearray(part.read_bytes())
    raw[place + 200 : place + 210] = bytes(10)
    part.write_bytes(raw)

    done = run("export", "mycrawl", "out", "--format", form)

    assert done.code == 0
    assert "Exported 2 pages" in done.out
    assert f"Skipped 1 page:\n  {B}: " in done.err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["pages"], manifest["skipped"]) == (2, 1)
    assert manifest["skipped_pages"][0]["url"] == B
    assert "damaged" in manifest["skipped_pages"][0]["reason"]


def test_pages_of_a_missing_archive_are_skipped(crawl: CrawlDir, run: Run) -> None:
    (part,) = crawl.segments.glob("*001/content/*.warc.gz")
    part.unlink()

    done = run("export", "mycrawl", "out", "--format", "warc")

    assert "Exported 1 page" in done.out
    assert f"  {C}: {part}: cannot read" in done.err.replace("mycrawl/", f"{crawl.path}/")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "warc", "sqlite", "markdown", "parquet"])
@pytest.mark.parametrize("free", [0, 24 * 1_024, 256 * 1_024])
def test_full_disk_is_reported_and_the_export_continued(tmp_path: Path, form: str, free: int, run: Run) -> None:
    crawl = crawl_at(tmp_path / "mycrawl")
    write_crawldb(crawl, [datum(url) for url in EXPORTED])
    noise = random.Random(1)
    add_segment(crawl, "20261115000001", {url: noise.randbytes(90_000).hex() for url in EXPORTED})
    with disk_of(2, tmp_path / "small") as disk:
        blocker = disk / "blocker"
        blocker.write_bytes(bytes(2 * 2**20 - free))
        done = run("export", "mycrawl", "small/out", "--format", form)
        assert done.code == 2
        assert "No space left on device" in done.err or "full" in done.err
        assert "Traceback" not in done.err

        blocker.unlink()
        again = run("export", "mycrawl", "small/out", "--format", form)
        assert again.out.startswith("Exported 3 pages in ")
