"""Creating a crawl directory where files already exist."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.batch.crawls import NOW

from scoter.batch.crawldir.directory import CrawlDir
from scoter.errors import UsageError


def test_interrupted_create_is_completed_by_the_next_command(tmp_path: Path) -> None:
    tmp_path.joinpath("segments").mkdir()
    tmp_path.joinpath("crawl.json.new").write_bytes(b'{"form')

    made = CrawlDir.create(tmp_path, NOW)

    assert CrawlDir.open(tmp_path).path == made.path


@pytest.mark.parametrize("file", ["notes.txt", "segments/notes.txt", "segments/20261115050000/segment.json"])
def test_folder_with_other_files_is_rejected(tmp_path: Path, file: str) -> None:
    tmp_path.joinpath(file).parent.mkdir(parents=True, exist_ok=True)
    tmp_path.joinpath(file).write_text("mine")

    with pytest.raises(UsageError, match="not a crawl directory, and not empty"):
        CrawlDir.create(tmp_path, NOW)


def test_path_that_is_not_utf_8_is_rejected_before_anything_is_created(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")

    with pytest.raises(UsageError, match="must be UTF-8"):
        CrawlDir.create(folder / "crawl", NOW)
    with pytest.raises(UsageError, match="must be UTF-8"):
        CrawlDir.open(folder / "crawl")

    assert not folder.exists()


def test_crawl_of_nutch_is_recognised() -> None:
    with pytest.raises(UsageError, match="a crawl of Apache Nutch") as raised:
        CrawlDir.open(Path(__file__).parents[2] / "examples" / "nutch-crawl")

    assert "scoter import-nutch-crawl" in raised.value.hint
