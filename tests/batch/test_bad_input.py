"""Mistakes and damaged files: one message, exit code 2, and nothing changes."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec import Struct
from tests.batch.crawls import crawl_at, datum, link, page, write_crawldb, write_segment

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import FETCHED, PARSED
from scoter.cli.main import main

AGENT = ("-D", "agent.name=testbot")
DONE, OPEN, UNPARSED = "20261115050000", "20261115060000", "20261115055000"
EVERY = (
    ("generate",),
    ("fetch", *AGENT),
    ("parse",),
    ("updatedb",),
    ("invertlinks",),
    ("dedup",),
    ("crawl", *AGENT),
    ("readdb", "--stats"),
)
# Files by which commands keep out of each other's way; they say nothing of the crawl.
_LOCKS = frozenset({"LOCK", "WORKERS"})
# What is learnt about hosts and URL patterns; correct even if the command fails.
_LEARNT = ("holds.sqlite", "traps.json", "refusals.json", "progress.jsonl")
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER = 24, 1, 2, 3  # linux/prctl.h, capability.h


class Said(Struct, frozen=True):
    """The output and exit code of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Said]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command with the crawl directory and further arguments."""
    monkeypatch.chdir(tmp_path)

    def command(name: str, *arguments: str | Path) -> Said:
        with pytest.raises(SystemExit) as ended:
            main([name, *map(str, arguments)])
        out, err = capfd.readouterr()
        return Said(int(ended.value.code or 0), out, err)

    return command


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    """A crawl with a segment to apply, one to parse, and one to fetch."""
    made = crawl_at(tmp_path / "crawl")
    write_crawldb(made, [datum(f"http://example.org/{number}", "unfetched") for number in range(50)])
    fetches = [{**datum("http://example.org/1", "success"), "fetch_time": datetime(2026, 11, 15, 4, tzinfo=UTC)}]
    links = [link("http://example.org/1", "http://example.org/new")]
    write_segment(made, DONE, fetches=fetches, pages=[page("http://example.org/1")], links=links)
    return made


def tree(folder: Path) -> dict[str, str]:
    """Return the files of a folder with their digests, without locks and what is learnt on the way."""
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in (*_LOCKS, *_LEARNT)
    }


def refused(said: Said, *words: str) -> None:
    """Check that a command printed one message with these words, and nothing else."""
    assert said.code == 2, said
    assert said.out == ""
    assert said.err.count("scoter: ") == 1, said.err
    assert "Traceback" not in said.err
    for word in words:
        assert word in said.err, said.err


@pytest.mark.parametrize("command", EVERY, ids=lambda command: command[0])
def test_missing_directory_is_an_error(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    name, *options = command

    refused(run(name, tmp_path / "nowhere", *options), "no such directory", "nowhere")

    assert tree(tmp_path) == {}


@pytest.mark.parametrize(
    "command", [*EVERY, ("crawl", "http://a.test/", *AGENT), ("inject", "http://a.test/")], ids=lambda each: each[0]
)
def test_directory_without_marker_is_an_error(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear reader")
    name, *options = command

    refused(run(name, tmp_path / "other", *options), "not a crawl directory")

    assert list(tree(tmp_path)) == ["other/letter.txt"]


@pytest.mark.parametrize("command", EVERY, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("marker", "word"),
    [
        ('{"format": 99, "created": "2030-01-01T00:00:00Z", "scoter": "9.0"}', "newer"),
        ("{", "damaged"),
        ("", "damaged"),
    ],
)
def test_newer_format_or_damaged_marker_is_an_error(
    run: Run, crawl: CrawlDir, command: tuple[str, ...], marker: str, word: str
) -> None:
    (crawl.path / "crawl.json").write_text(marker)
    before = tree(crawl.path)
    name, *options = command

    refused(run(name, crawl.path, *options), word, "crawl.json")

    assert tree(crawl.path) == before


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _scribbled(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = b"\xa5" * (len(data) // 2 - 4)
    path.write_bytes(bytes(data))


def _removed(path: Path) -> None:
    path.unlink()


DAMAGES = [_cut, _emptied, _scribbled]


@pytest.mark.parametrize("damage", [*DAMAGES, _removed])
@pytest.mark.parametrize("command", ["generate", "updatedb", "dedup"])
def test_damaged_crawldb_is_an_error(run: Run, crawl: CrawlDir, damage: Callable[[Path], None], command: str) -> None:
    (part,) = crawl.crawldb.rglob("*.parquet")
    damage(part)
    before = tree(crawl.path)

    refused(run(command, crawl.path, *(["--force"] if command == "generate" else [])), "crawldb", part.name)

    assert tree(crawl.path) == before


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("table", ["crawl_fetch", "parse_data", "crawl_parse"])
def test_damaged_part_of_a_segment_is_an_error(
    run: Run, crawl: CrawlDir, damage: Callable[[Path], None], table: str
) -> None:
    (part,) = (crawl.segments / DONE / table).glob("*.parquet")
    damage(part)
    before = tree(crawl.path)

    refused(run("updatedb", crawl.path), table, part.name)

    assert tree(crawl.path) == before


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_fetch_list_is_an_error(run: Run, crawl: CrawlDir, damage: Callable[[Path], None]) -> None:
    segment = write_segment(crawl, OPEN, generates=[datum("http://example.org/2", "unfetched")], done=())
    for table in ("crawl_fetch", "parse_data", "parse_text", "crawl_parse"):
        shutil.rmtree(segment.path / table)
    (part,) = (segment.path / "crawl_generate").glob("*.parquet")
    damage(part)
    before = tree(crawl.path)

    refused(run("fetch", crawl.path, OPEN, *AGENT), "crawl_generate", part.name)

    assert {name: digest for name, digest in tree(crawl.path).items() if "robots" not in name} == before


@pytest.mark.parametrize("damage", [*DAMAGES, _removed])
def test_damaged_archive_is_an_error(run: Run, crawl: CrawlDir, damage: Callable[[Path], None]) -> None:
    archived = {"warc_file": "a.warc.gz", "warc_offset": 0, "warc_length": 100}
    rows = [{**datum("http://example.org/3", "success"), **archived}]
    segment = write_segment(crawl, UNPARSED, fetches=rows, done=(FETCHED,))
    for table in ("parse_data", "parse_text", "crawl_parse"):
        shutil.rmtree(segment.path / table)
    segment.content.mkdir()
    (segment.content / "a.warc.gz").write_bytes(b"\x1f\x8b\x08\x00 no such archive " * 20)
    damage(segment.content / "a.warc.gz")
    before = tree(crawl.path)

    refused(run("parse", crawl.path, UNPARSED), "a.warc.gz")

    assert tree(crawl.path) == before
    assert not (segment.path / PARSED).exists()


def test_seeds_that_are_not_urls_are_listed_and_skipped(run: Run, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://example.org/\nnot a url\nhttp://\n")

    said = run("inject", tmp_path / "crawl", tmp_path / "seeds.txt")

    assert said.code == 0
    assert "not a url" in said.err
    assert "seeds.txt" in said.err


@pytest.mark.parametrize("command", [("inject",), ("crawl", *AGENT)], ids=lambda command: command[0])
def test_missing_seed_file_is_an_error(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    name, *options = command

    refused(run(name, tmp_path / "crawl", tmp_path / "seeds.txt", *options), "seeds.txt")

    assert tree(tmp_path) == {}


def test_expression_with_a_typo_is_an_error(run: Run, crawl: CrawlDir) -> None:
    before = tree(crawl.path)

    refused(run("generate", crawl.path, "--expr", "scor > 1"), "scor", "score")

    assert tree(crawl.path) == before


def test_missing_agent_name_is_an_error_before_anything_is_created(run: Run, tmp_path: Path, crawl: CrawlDir) -> None:
    refused(run("crawl", tmp_path / "new", "http://example.org/"), "agent.name")
    refused(run("crawl", crawl.path), "agent.name")
    refused(run("fetch", crawl.path), "agent.name")

    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "command", [("generate",), ("updatedb",), ("dedup",), ("crawl", *AGENT)], ids=lambda each: each[0]
)
def test_locked_crawl_names_the_running_command(run: Run, crawl: CrawlDir, command: tuple[str, ...]) -> None:
    before = tree(crawl.path)
    name, *options = command

    with crawl.lock("crawl"):
        refused(run(name, crawl.path, *options), "crawl", str(os.getpid()))

    assert tree(crawl.path) == before


def _obedient() -> None:
    """Drop the capabilities that let root ignore file modes."""
    libc = ctypes.CDLL(None)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER):
        libc.prctl(PR_CAPBSET_DROP, capability)


@pytest.mark.parametrize("command", [("generate", "--force"), ("updatedb",), ("dedup",), ("crawl", *AGENT)])
def test_read_only_directory_is_an_error(crawl: CrawlDir, command: tuple[str, ...]) -> None:
    name, *options = command
    before = tree(crawl.path)
    for path in [crawl.path, *crawl.path.rglob("*")]:
        path.chmod(0o500 if path.is_dir() else 0o400)

    done = subprocess.run(
        [sys.executable, "-m", "scoter.cli.main", name, str(crawl.path), *options],
        capture_output=True,
        preexec_fn=_obedient,
        timeout=120,
        check=False,
    )

    refused(Said(done.returncode, done.stdout.decode(), done.stderr.decode()), "ermission denied", str(crawl.path))
    assert tree(crawl.path) == before
