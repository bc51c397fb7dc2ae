"""Main text that a crawl did not store is made from its archive, once."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Never

import pyarrow.parquet as pq
import pytest
from tests.batch.crawls import NOW, crawl_at, datum, named, page, write_crawldb, write_segment
from tests.store.exchanges import exchange

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import Segment, SegmentSources
from scoter.batch.main_text import job
from scoter.batch.main_text.job import make_main_text
from scoter.config import load
from scoter.errors import UsageError
from scoter.store.warc import ArchiveInfo, WarcPart

FIRST, SECOND = "20261115000001", "20261115000002"
CONFIG = load(None, {}, [])
MENU = "".join(f"<div><a href='/{name}'>{name} of the seal station</a></div>" for name in ("News", "Staff", "Maps"))


def html(number: int) -> bytes:
    """Return a page whose menu only the other pages of the host give away."""
    words = " ".join(f"seal{number} swims{word} north{word}." for word in range(40))
    return f"<title>T</title><div>{MENU}</div><div><h1>Page {number}</h1><p>{words}</p></div>".encode()


def segment_of(
    crawl: CrawlDir, name: str, numbers: Sequence[int], bodies: dict[int, bytes] | None = None, **texts: Any
) -> Segment:
    """Add a segment with pages of one host, and its archive."""
    folder = crawl.path / f"archive-{name}"
    folder.mkdir()
    part = WarcPart(folder, "part-00001", ArchiveInfo(software="test"), opened=NOW)
    fetches = []
    for number in numbers:
        url = address(number)
        place = part.append(exchange(url, (bodies or {}).get(number, html(number))))
        row = datum(url, "success", content_type="text/html", fetch_time=NOW)
        fetches.append({**row, "warc_file": place.file, "warc_offset": place.offset})
    part.finish()
    written = write_segment(
        crawl,
        name,
        fetches=fetches,
        pages=[page(address(number), content_type="text/html") for number in numbers],
        texts=[{**named(address(number)), "text": f"Text of {number}", **texts} for number in numbers],
    )
    folder.rename(written.content)
    return written


def address(number: int) -> str:
    return f"http://seals.example/{number}"


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    made = crawl_at(tmp_path / "crawl")
    write_crawldb(made, [datum(address(number)) for number in range(10)])
    segment_of(made, FIRST, range(6))
    segment_of(made, SECOND, [6, 7])
    return made


def texts(crawl: CrawlDir) -> dict[str, dict[str, Any]]:
    """Return the rows that every reader of texts sees, by URL."""
    files = SegmentSources(crawl.all_segments()).parse_text.files
    return {row["url"]: row for file in files for row in pq.read_table(file).to_pylist()}


def test_menu_that_other_pages_repeat_is_left_out(crawl: CrawlDir, tmp_path: Path) -> None:
    result = make_main_text(crawl, CONFIG, tmp_path)

    assert (result.pages, result.is_kept) == (8, True)
    found = texts(crawl)
    assert len(found) == 8
    for number in range(8):
        row = found[address(number)]
        assert row["text"] == f"Text of {number}"
        assert f"seal{number} swims39" in row["main_text"]
        assert "Staff" not in row["main_text"]
        assert row["markdown"] is None


def test_main_text_is_made_once(crawl: CrawlDir, tmp_path: Path) -> None:
    make_main_text(crawl, CONFIG, tmp_path)

    assert make_main_text(crawl, CONFIG, tmp_path).pages == 0


def test_markdown_is_made_when_it_is_needed(crawl: CrawlDir, tmp_path: Path) -> None:
    make_main_text(crawl, CONFIG, tmp_path)

    assert make_main_text(crawl, CONFIG, tmp_path, markdown=True).pages == 8
    row = texts(crawl)[address(1)]
    assert "# Page 1" in row["markdown"]
    assert "seal1 swims39" in row["main_text"]
    assert make_main_text(crawl, CONFIG, tmp_path).pages == 0


def test_interrupted_run_makes_only_the_rest(crawl: CrawlDir, tmp_path: Path) -> None:
    make_main_text(crawl, CONFIG, tmp_path)
    before = texts(crawl)
    first, second = (Path(segment.main_text().files[0]) for segment in crawl.all_segments())
    untouched = first.stat().st_mtime_ns
    second.rename(second.with_name(f"{second.name}.open"))  # what a killed worker leaves

    assert make_main_text(crawl, CONFIG, tmp_path).pages == 2
    assert texts(crawl) == before
    assert first.stat().st_mtime_ns == untouched
    assert [file.name for file in second.parent.iterdir()] == [second.name]


def test_stored_main_text_stays_but_missing_markdown_is_made(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    segment_of(crawl, FIRST, range(3), main_text="Stored.")

    assert make_main_text(crawl, CONFIG, tmp_path).pages == 0
    assert make_main_text(crawl, CONFIG, tmp_path, markdown=True).pages == 3
    assert "# Page 1" in texts(crawl)[address(1)]["markdown"]


def test_read_only_crawl_gets_main_text_that_is_not_kept(
    crawl: CrawlDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(crawl.path.rglob("*"))

    def refused(self: Segment, command: str) -> Never:
        raise UsageError("cannot lock") from OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Segment, "lock", refused)
    result = make_main_text(crawl, CONFIG, tmp_path)

    assert (result.pages, result.is_kept) == (8, False)
    assert "seal1 swims39" in texts(crawl)[address(1)]["main_text"]
    assert sorted(crawl.path.rglob("*")) == before


def test_pages_that_cannot_be_read_keep_their_whole_text(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    segment = segment_of(crawl, FIRST, range(3), {1: b"%PDF-1.7 no page of HTML"})
    (archive,) = segment.content.glob("*.warc.gz")
    (fetches,) = segment.crawl_fetch().files
    with archive.open("r+b") as file:  # damage the last page
        file.seek(pq.read_table(fetches).to_pylist()[-1]["warc_offset"] + 100)
        file.write(b"damage")

    make_main_text(crawl, CONFIG, tmp_path)

    found = texts(crawl)
    assert found[address(0)]["main_text"]
    assert [found[address(number)]["main_text"] for number in (1, 2)] == [None, None]
    assert make_main_text(crawl, CONFIG, tmp_path).pages == 0


def test_segment_without_archive_is_left_as_it_is(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    fetches, pages = [datum(address(1), "success")], [page(address(1))]
    segment = write_segment(crawl, FIRST, fetches=fetches, pages=pages, texts=[{**named(address(1)), "text": "Text"}])

    assert make_main_text(crawl, CONFIG, tmp_path).pages == 0
    assert segment.main_text().files == ()


@pytest.mark.slow
def test_worker_processes_make_the_same(crawl: CrawlDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "_SMALL", 0)
    steps: list[tuple[int, int]] = []

    make_main_text(crawl, CONFIG, tmp_path, progress=lambda done, total: steps.append((done, total)))

    assert steps[-1] == (8, 8)
    assert all("Staff" not in row["main_text"] for row in texts(crawl).values())


def test_worker_imports_no_engine() -> None:
    heavy = ("ibis", "duckdb", "pandas", "pyarrow.dataset")
    code = f"import sys, scoter.batch.main_text.pool\nprint(*[name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []
