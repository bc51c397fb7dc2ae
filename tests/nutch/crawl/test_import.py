"""scoter import-nutch-crawl: a whole crawl, and one that is damaged, killed or not there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from tests.nutch.crawl.writer import (
    Pair,
    content,
    datum,
    host,
    inlinks,
    map_writable,
    parse_data,
    parse_text,
    protocol_status,
    sequence_file,
    text,
    write_map_file,
)
from tests.power import SyncedDisk

from scoter.batch.crawldir.directory import CrawlDir, applied_segments
from scoter.cli.invocation import Invocation
from scoter.cli.main import run
from scoter.config import load
from scoter.engine import open_engine
from scoter.nutch.crawl.job import ImportFolder, NutchImportResult, import_nutch_crawl
from scoter.nutch.crawl.layout import NutchCrawl
from scoter.store.warc import ArchiveFolder

A, B, C = "http://a.example/", "http://a.example/b", "http://c.example/"
HOUR = 3_600_000
NOW = 1_794_700_800_000
FIRST, LAST = "20261114120000", "20261115120000"
DIGEST = "0123456789abcdef0123456789abcdef"
NO_FETCH = "not imported: the segment has no crawl_fetch"
Row = dict[str, Any]


@pytest.fixture
def nutch(tmp_path: Path) -> Path:
    return write_nutch_crawl(tmp_path / "nutch")


def write_nutch_crawl(crawl: Path) -> Path:
    """Write a crawl of three URLs: a page, a redirect to it, one that is gone; and a segment that is not fetched."""
    due = NOW + 720 * HOUR
    known = [
        (text(A), datum(2, signature=bytes.fromhex(DIGEST), modified=NOW, fetch_time=due)),
        (text(B), datum(4, fetch_time=due)),
        (text(C), datum(3, retries=2, score=0.25, fetch_time=due)),
        (text("http://d.example/#same"), datum(1, fetch_time=NOW)),
        (text("http://d.example/"), datum(9, fetch_time=NOW + 1)),
        (text("mailto:me@a.example"), datum(1)),
    ]
    write_map_file(crawl / "crawldb/current/part-r-00000", known)
    write_map_file(crawl / "linkdb/current/part-r-00000", [(text(A), inlinks([(C, "to a"), (B, "")]))])
    (crawl / "hostdb/current").mkdir(parents=True)
    (crawl / "hostdb/current/part-r-00000").write_bytes(
        sequence_file([(text("a.example"), host(A, [1, 2, 3, 4, 5, 6, 7, 8]))], "block")[0]
    )
    segment = crawl / "segments" / FIRST
    write_sequence(segment / "crawl_generate", [(text(each), datum(1)) for each in (A, B, C)])
    write_map_file(segment / "crawl_fetch/part-r-00000", fetches())
    bodies = [
        (
            text(A),
            content(A, b"<p>page", {"Content-Type": ["text/html"], "Content-Encoding": ["gzip"], "X": ["1", "2"]}),
        ),
        (text(B), content(B, b"", {"Location": [A], "nutch.segment.name": [FIRST]})),
    ]
    write_map_file(segment / "content/part-r-00000", bodies)
    page = parse_data(
        "Title",
        [(B, "b"), (C, "c"), ("mailto:x", "")],
        headers={"nutch.content.digest": [DIGEST], "Content-Type": ["text/html; charset=utf-8"]},
        about={"language": ["en"], "k": ["1", "2"]},
    )
    write_map_file(segment / "parse_data/part-r-00000", [(text(A), page)])
    write_map_file(segment / "parse_text/part-r-00000", [(text(A), parse_text("the text"))])
    write_sequence(segment / "crawl_parse", [(text(each), datum(0x43, score=0.5)) for each in (B, C)])
    write_sequence(crawl / "segments" / LAST / "crawl_generate", [(text(A), datum(2, fetch_time=NOW))])
    return crawl


def fetches() -> list[Pair]:
    moved = map_writable({"_pst_": (1, protocol_status(13, A))}, {1: "org.apache.nutch.protocol.ProtocolStatus"})
    gone = map_writable({"_pst_": (1, protocol_status(14, C))}, {1: "org.apache.nutch.protocol.ProtocolStatus"})
    ok = map_writable({"nutch.protocol.code": (-116, text("203")), "_rs_": (-123, (70).to_bytes(4))})
    return [
        (text(A), datum(0x21, fetch_time=NOW, more=ok)),
        (text(B), datum(0x23, fetch_time=NOW + 1_000, more=moved)),
        (text(C), datum(0x25, fetch_time=NOW + 2_000, more=gone)),
        (text(A), datum(0x43, fetch_time=NOW)),
    ]


def write_sequence(folder: Path, pairs: list[Pair]) -> None:
    folder.mkdir(parents=True)
    (folder / "part-r-00000").write_bytes(sequence_file(pairs, "none")[0])


def imported(nutch: Path, crawl: Path) -> NutchImportResult:
    config = load()
    with ImportFolder(crawl) as folder, open_engine(config, folder.scratch) as engine:
        return import_nutch_crawl(NutchCrawl(nutch), folder, engine, config, now=moment(NOW))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[CrawlDir, NutchImportResult]:
    """The crawl of ``nutch``, imported; tests must not change it."""
    folder = tmp_path_factory.mktemp("whole")
    report = imported(write_nutch_crawl(folder / "nutch"), folder / "crawl")
    return CrawlDir.open(folder / "crawl"), report


def table(folder: Path, key: str = "url") -> dict[str, Row]:
    files = sorted(map(str, folder.rglob("*.parquet"))) if folder.is_dir() else [str(folder)]
    return {row[key]: row for row in ds.dataset(files).to_table().to_pylist()}


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1_000, UTC)


def test_imported_crawl_survives_a_power_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nutch = write_nutch_crawl(tmp_path / "nutch")
    disk = SyncedDisk(tmp_path, monkeypatch)
    imported(nutch, tmp_path / "crawl")

    assert disk.lost((tmp_path / "crawl").rglob("*")) == []


def test_the_crawldb_is_imported_with_nutchs_statuses(whole: tuple[CrawlDir, NutchImportResult]) -> None:
    crawl, report = whole

    rows = table(crawl.crawldb)
    assert {url: row["status"] for url, row in rows.items()} == {
        A: "fetched",
        B: "redir_temp",
        C: "gone",
        "http://d.example/": "parse_failed",
    }
    assert rows[A]["signature"] == bytes.fromhex(DIGEST)
    assert rows[A]["modified_time"] == moment(NOW)
    assert (rows[C]["retries"], rows[C]["score"], rows[C]["interval"]) == (2, 0.25, 2_592_000)
    assert rows[C]["fetch_time"] == moment(NOW + 720 * HOUR)
    crawldb = report.parts[0]
    assert (crawldb.part, crawldb.read, crawldb.imported) == ("crawldb", 6, 4)
    assert crawldb.left_out == {"not a URL": 1, "same URL in canonical form": 1}


def test_a_segment_is_imported_with_its_pages(whole: tuple[CrawlDir, NutchImportResult]) -> None:
    crawl, report = whole

    segment = crawl.segment(FIRST)
    rows = table(segment.path / "crawl_fetch")
    assert (rows[A]["status"], rows[A]["http_status"], rows[A]["response_ms"]) == ("success", 203, 70)
    assert (rows[B]["status"], rows[B]["redirect_to"], rows[B]["redirect_host"]) == ("redir_temp", A, "a.example")
    assert (rows[C]["status"], rows[C]["reason"], rows[C]["warc_file"]) == ("gone", "not_found", None)
    with ArchiveFolder(segment.content) as archive:
        page = archive.at(rows[A]["warc_file"], rows[A]["warc_offset"])
        moved = archive.at(rows[B]["warc_file"], rows[B]["warc_offset"])
    assert (page.status, page.body, page.date) == (203, b"<p>page", moment(NOW))
    assert page.headers == (
        ("Content-Type", "text/html"),
        ("X-Crawler-Content-Encoding", "gzip"),
        ("X", "1"),
        ("X", "2"),
    )
    assert (moved.status, moved.header("Location"), moved.header("nutch.segment.name")) == (302, A, "")
    data = table(segment.path / "parse_data")[A]
    assert (data["title"], data["parse_status"], data["language"], data["outlinks"]) == ("Title", "success", "en", 2)
    assert (data["content_type"], data["signature"]) == ("text/html", bytes.fromhex(DIGEST))
    assert dict(data["metadata"])["k"] == "1\t2"
    assert table(segment.path / "parse_text")[A]["text"] == "the text"
    links = table(segment.path / "crawl_parse")
    assert {url: (row["source"], row["anchor"], row["score"]) for url, row in links.items()} == {
        B: (A, "b", 0.5),
        C: (A, "c", 0.5),
    }
    assert [(each.name, each.is_fetched, each.is_parsed) for each in report.segments] == [
        (FIRST, True, True),
        (LAST, False, False),
    ]


def test_segments_that_the_crawldb_knows_count_as_applied(
    whole: tuple[CrawlDir, NutchImportResult], nutch: Path, tmp_path: Path
) -> None:
    crawl, report = whole
    data = nutch / "crawldb/current/part-r-00000/data"
    data.write_bytes(sequence_file([(text(each), datum(1, fetch_time=NOW - HOUR)) for each in (A, B, C)])[0])
    pending = imported(nutch, tmp_path / "later-crawl")

    assert report.pending == ()
    assert applied_segments(crawl.crawldb) == applied_segments(crawl.linkdb) == frozenset({FIRST})
    assert pending.pending == (FIRST,)
    assert applied_segments(CrawlDir.open(tmp_path / "later-crawl").crawldb) == frozenset()
    assert run(["updatedb", str(tmp_path / "later-crawl")], Invocation()) == 0
    assert table(CrawlDir.open(tmp_path / "later-crawl").crawldb / "v000002")[A]["status"] == "fetched"


def test_linkdb_and_hostdb_are_imported(whole: tuple[CrawlDir, NutchImportResult]) -> None:
    crawl, _ = whole

    links = table(crawl.linkdb)[A]["inlinks"]
    assert sorted((each["url"], each["anchor"]) for each in links) == [(B, ""), (C, "to a")]
    row = table(crawl.hostdb)["a.example"]
    assert (row["homepage"], row["dns_failures"], row["gone"], row["score"]) == (A, 1, 8, 0.5)
    assert (row["dns"], row["key"]) == ("failed", "example,a")


def test_damage_is_reported_with_file_and_offset_and_the_rest_is_imported(nutch: Path, tmp_path: Path) -> None:
    pairs = [(text(f"http://a.example/{number:03}"), datum(1)) for number in range(20)]
    data, blocks = sequence_file(pairs, "block")
    file = nutch / "crawldb/current/part-r-00000/data"
    at = sum(blocks[2]) // 2
    file.write_bytes(data[:at] + b"????" + data[at + 4 :])

    report = imported(nutch, tmp_path / "crawl")

    rows = table(CrawlDir.open(tmp_path / "crawl").crawldb)
    assert len(rows) == 16
    (problem,) = report.problems
    assert (problem.file, problem.offset) == (str(file), blocks[2][0])
    assert report.problem_count == 1


def test_unsupported_compression_is_named(nutch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = nutch / "crawldb/current/part-r-00000/data"
    data.write_bytes(data.read_bytes().replace(b"DefaultCodec", b"QuickLzCodec"))

    assert run(["import-nutch-crawl", str(nutch), str(tmp_path / "crawl")], Invocation()) == 1

    told = capsys.readouterr().err
    assert f"{data}, byte 0: compressed with QuickLzCodec, which is not supported" in told
    assert told.endswith("Nothing could be read of: crawldb\n")


def test_the_directory_must_be_new(nutch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "crawl"
    target.mkdir()
    (target / "mine.txt").write_text("keep")

    assert run(["import-nutch-crawl", str(nutch), str(target)], Invocation()) == 2

    assert "not empty" in capsys.readouterr().err
    assert [each.name for each in target.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("make", [False, True])
def test_what_is_not_a_nutch_crawl_is_refused(tmp_path: Path, make: bool, capsys: pytest.CaptureFixture[str]) -> None:
    if make:
        (tmp_path / "nutch").mkdir()

    assert run(["import-nutch-crawl", str(tmp_path / "nutch"), str(tmp_path / "crawl")], Invocation()) == 2

    assert ("not a Nutch crawl" if make else "no such directory") in capsys.readouterr().err
    assert not (tmp_path / "crawl").exists()


def test_a_crawl_without_any_intact_record_is_refused(nutch: Path, tmp_path: Path) -> None:
    for file in nutch.rglob("*"):
        if file.is_file():
            file.write_bytes(b"not a SequenceFile")

    assert run(["import-nutch-crawl", str(nutch), str(tmp_path / "crawl")], Invocation()) == 2

    assert [each.name for each in tmp_path.iterdir()] == ["nutch"]


def test_a_killed_import_leaves_no_crawl_and_can_be_repeated(nutch: Path, tmp_path: Path) -> None:
    target = tmp_path / "crawl"
    target.mkdir()  # an empty directory may exist
    program = (
        "import os, sys, scoter.nutch.crawl.job as job; from scoter.cli.main import main;"
        "job.import_linkdb = lambda *_: os.kill(os.getpid(), 9); main(sys.argv[1:])"
    )
    killed = subprocess.run([sys.executable, "-c", program, "import-nutch-crawl", str(nutch), str(target)], check=False)
    assert killed.returncode == -9
    assert not any(target.iterdir())

    imported(nutch, target)

    assert sorted(each.name for each in tmp_path.iterdir()) == ["crawl", "nutch"]


def test_a_segment_without_fetches_is_reported(nutch: Path, tmp_path: Path) -> None:
    shutil.rmtree(nutch / "segments" / FIRST / "crawl_fetch")

    report = imported(nutch, tmp_path / "crawl")

    assert {problem.what for problem in report.problems} == {"not a URL: 'mailto:me@a.example'", NO_FETCH}
    assert (report.segments[0].is_fetched, report.segments[0].is_parsed) == (False, False)


def test_an_imported_crawl_can_be_used(whole: tuple[CrawlDir, NutchImportResult], tmp_path: Path) -> None:
    crawl = str(shutil.copytree(whole[0].path, tmp_path / "crawl"))

    for command in (
        ["readdb", crawl, "--url", A],
        ["readlinkdb", crawl, "--url", A],
        ["readseg", crawl, FIRST, "--get", A],
        ["explain", crawl, A],
        ["invertlinks", crawl, FIRST, "--force"],
        ["dedup", crawl],
        ["index", crawl],
    ):
        assert run(command, Invocation()) == 0, command
