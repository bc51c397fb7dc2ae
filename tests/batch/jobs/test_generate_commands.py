"""The output and exit codes of inject, generate and freegen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scoter.cli.main import main


class Command:
    """Runs `scoter` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: object) -> int:
        with pytest.raises(SystemExit) as ended:
            main([str(each) for each in arguments])
        self.out, self.err = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(self.out)
        return found


@pytest.fixture
def scoter(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capsys)


def test_inject_and_generate_make_a_segment(scoter: Command, tmp_path: Path) -> None:
    Path("seeds.txt").write_text("https://a.org/\nnonsense\nhttps://b.org/\n")

    assert scoter("inject", "crawl", "seeds.txt", "https://c.org/") == 0
    assert scoter.out == "3 new, 1 not URLs\n"
    assert "seeds.txt:2: nonsense" in scoter.err

    assert scoter("generate", "crawl", "--top-n", 2, "--max-segments", 2) == 0
    names = scoter.out.split()
    assert names == sorted(path.name for path in Path("crawl/segments").iterdir())
    assert len(names) == 2
    assert scoter.err == "3 of 3 URLs.\n"


def test_nothing_due_prints_the_reasons_and_exits_with_1(scoter: Command) -> None:
    scoter("inject", "crawl", "https://a.org/", "https://b.org/")
    assert scoter("generate", "crawl", "--expr", 'host == "c.org"') == 1
    assert scoter.out == ""
    assert scoter.err == "Nothing to fetch: 2 URLs known, 2 not matched by the expression.\n"


def test_json_output_is_one_object(scoter: Command) -> None:
    assert scoter("inject", "crawl", "https://a.org/", "--json") == 0
    assert scoter.json()["new"] == 1
    assert scoter("generate", "crawl", "--json") == 0
    assert list(scoter.json()["segments"].values()) == [1]
    assert scoter("generate", "crawl", "--json", "--expr", "score > 5") == 1
    assert scoter.json()["skipped"] == {"not matched by the expression": 1}


def test_seeds_without_a_url_exit_with_1(scoter: Command) -> None:
    Path("seeds.txt").write_text("nonsense\n")
    assert scoter("inject", "crawl", "seeds.txt") == 1
    assert scoter.out == "0 new, 1 not URLs\n"
    assert scoter("generate", "crawl") == 2
    assert "Add seed URLs first: scoter inject crawl https://www.example.org/" in scoter.err


def test_invalid_seed_creates_no_directory(scoter: Command) -> None:
    assert scoter("inject", "crawl", "example.org") == 2
    assert "Did you mean https://example.org?" in scoter.err
    assert scoter("freegen", "crawl", "nowhere.txt") == 2
    assert not Path("crawl").exists()


def test_freegen_prints_the_segment(scoter: Command) -> None:
    Path("urls.txt").write_text("https://a.org/\n")
    assert scoter("freegen", "crawl", "urls.txt") == 0
    assert re.fullmatch(r"\d{14}\n", scoter.out)
    Path("urls.txt").write_text("\n")
    assert scoter("freegen", "crawl", "urls.txt", "--quiet") == 1
    assert (scoter.out, scoter.err) == ("", "")
