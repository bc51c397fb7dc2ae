"""An export that is interrupted is continued by the same command, with the same result."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import datum, write_crawldb
from tests.export.corpus.test_quality import prose
from tests.export.crawls import URLS, add_segment, content_of, crawl_with_archive, exported, urls

from scoter.batch.crawldir.directory import CrawlDir
from scoter.errors import UsageError
from scoter.export.folder import ExportFolder, FinishedShard
from scoter.export.registry import FORMATS
from scoter.store.disk import try_lock

KILLED = ("jsonl", "warc", "markdown", "sqlite", "corpus")
"""The formats that write in different ways."""


class Killed(Exception):
    """Stands for the end of a process."""


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_with_archive(tmp_path / "crawl")


@pytest.mark.parametrize(
    ("form", "moment"),
    [*((form, "before") for form in FORMATS), ("jsonl", "after"), ("warc", "after"), ("sqlite", "after")],
)
def test_interrupted_export_gives_the_same_result(
    crawl: CrawlDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, moment: str
) -> None:
    exported(crawl, tmp_path / "whole", form, shard_size=1)
    add = ExportFolder.add

    def end_at_second(self: ExportFolder, shard: FinishedShard) -> None:
        if shard.number == 0 or moment == "after":
            add(self, shard)
        if shard.number == 1:
            raise Killed

    monkeypatch.setattr(ExportFolder, "add", end_at_second)
    with pytest.raises(Killed):
        exported(crawl, tmp_path / "out", form, shard_size=1)
    monkeypatch.undo()
    add_segment(crawl, "20261115000009", {URLS[1]: "Text that came after the export began"})

    exported(crawl, tmp_path / "out", form, shard_size=1)

    whole, continued = content_of(tmp_path / "whole"), content_of(tmp_path / "out")
    if form == "sqlite":  # the digest of the database may differ
        whole.pop("manifest.json")
        continued.pop("manifest.json")
        assert _dump(tmp_path / "whole") == _dump(tmp_path / "out")
    assert continued == whole


def _dump(out: Path) -> list[str]:
    with closing(sqlite3.connect(out / "pages.sqlite")) as database:
        return list(database.iterdump())


def test_line_of_a_shard_that_was_cut_off_is_ignored(
    crawl: CrawlDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    _interrupt(crawl, out, monkeypatch)
    with (out / ".export" / "shards.jsonl").open("ab") as state:
        state.write(b'{"number":1,"pa')

    exported(crawl, out, "jsonl", shard_size=1)

    assert urls(out) == list(URLS[:3])


def test_finished_export_is_left_alone(crawl: CrawlDir, tmp_path: Path) -> None:
    exported(crawl, tmp_path / "out", "jsonl")
    before = content_of(tmp_path / "out")

    exported(crawl, tmp_path / "out", "jsonl")

    assert content_of(tmp_path / "out") == before


def _interrupt(crawl: CrawlDir, out: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """Leave an export with one finished shard."""
    add = ExportFolder.add

    def end_after_first(self: ExportFolder, shard: FinishedShard) -> None:
        add(self, shard)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(ExportFolder, "add", end_after_first)
        with pytest.raises(Killed):
            exported(crawl, out, "jsonl", shard_size=1, **options)


def test_other_options_do_not_continue_an_export(
    crawl: CrawlDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    _interrupt(crawl, out, monkeypatch)

    with pytest.raises(UsageError, match="shard_size was 1, not 2"):
        exported(crawl, out, "jsonl", shard_size=2)
    exported(crawl, out, "jsonl", shard_size=1)
    with pytest.raises(UsageError, match='format was "jsonl", not "csv"'):
        exported(crawl, out, "csv", shard_size=1)


def test_export_has_one_writer_at_a_time(crawl: CrawlDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    _interrupt(crawl, out, monkeypatch)
    handle = os.open(out / ".export" / "LOCK", os.O_RDWR)
    try:
        assert try_lock(handle)
        with pytest.raises(UsageError, match="another process"):
            exported(crawl, out, "jsonl", shard_size=1)
    finally:
        os.close(handle)


CHILD = """
import sys
from pathlib import Path
from scoter.batch.crawldir.directory import CrawlDir
from tests.batch.crawls import NOW
from tests.export.crawls import exported
from tests.export.corpus.test_job import written
crawl, out, form = CrawlDir.open(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
if form == "corpus":
    written(crawl, out, shard_size=3)
else:
    exported(crawl, out, form, shard_size=3)
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", KILLED)
def test_killed_export_gives_the_same_result(tmp_path: Path, form: str) -> None:
    crawl = crawl_with_archive(tmp_path / "crawl")
    texts = {f"http://a.org/{number}": prose(100, seed=number) for number in range(40)}
    write_crawldb(crawl, [datum(url) for url in (*URLS, *texts)])
    add_segment(crawl, "20261115000005", texts)
    _run(crawl, tmp_path / "whole", form)

    out, kills = tmp_path / "out", 0
    # The rows must be complete before shards can be. SQLite syncs its file without this process knowing.
    lengths = (7, 5, 6) if form == "sqlite" else (17, 23, 19)
    while kills < 30 and not _run(crawl, out, form, kill_after=lengths[kills % 3] if kills else 23):
        kills += 1

    assert 2 <= kills < 30
    whole, continued = content_of(tmp_path / "whole"), content_of(out)
    if form == "sqlite":
        assert _dump(tmp_path / "whole") == _dump(out)
        whole.pop("manifest.json")
        continued.pop("manifest.json")
    assert continued == whole


def _run(crawl: CrawlDir, out: Path, form: str, kill_after: int = 0) -> bool:
    """Export in a process that is killed when it has written so much; say if it ended."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    code = CHILD if not kill_after else _KILLER.format(number=kill_after) + CHILD
    arguments = [sys.executable, "-W", "ignore", "-c", code, str(crawl.path), str(out), form]
    done = subprocess.run(arguments, env=environment, check=False, timeout=120)
    shutil.rmtree(out.parent / "engine", ignore_errors=True)
    assert done.returncode in (0, -signal.SIGKILL)
    return done.returncode == 0


# Kills its own process at the given call that makes something durable: a moment that a timer would rarely hit.
_KILLER = """
import os, signal, pathlib
left = {number}
def counted(function):
    def call(*arguments, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call
os.fsync = counted(os.fsync)
pathlib.Path.replace = counted(pathlib.Path.replace)
"""
