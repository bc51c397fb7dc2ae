"""The output and exit codes of `scoter updatedb`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.batch.making import crawldb_of, fetch, known, link, make_crawl, make_segment

from scoter.cli.main import main

A, B = "http://a.example/", "http://b.example/"


def scoter(*arguments: object) -> int:
    """Run `scoter` in this process and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_pending_segments_are_applied_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    segment = make_segment(crawl, fetches=[fetch(A)], links=[link(A, B)])

    assert scoter("updatedb", crawl.path) == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        f"{segment.name}: 1 of 1 URL fetched, 1 link; 1 new URL, 2 in the crawldb"
    )

    assert scoter("updatedb", crawl.path) == 1
    assert "no fetched segment that is not in the crawldb yet" in capsys.readouterr().err

    assert scoter("updatedb", crawl.path, segment.name) == 2
    assert "is already in the crawldb" in capsys.readouterr().err


def test_json_output_has_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    segment = make_segment(crawl, fetches=[fetch(A)], links=[link(A, B)])

    assert scoter("updatedb", crawl.path, segment.name, "--no-additions", "--json") == 0

    told = msgspec.json.decode(capsys.readouterr().out)
    assert (told["segments"], told["new"], told["statuses"]) == ([segment.name], 0, {"fetched": 1})
    assert set(crawldb_of(crawl)) == {A}
