"""Programs as parsers: what they are given, what is made of their answers, and that they are ended."""

from __future__ import annotations

import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.parse.documents.made import content

from scoter.config import load
from scoter.config.load import plugin_settings
from scoter.core.page import Page
from scoter.errors import ConfigError
from scoter.parse.documents.command import CommandParser, CommandSettings
from scoter.plugins import Setup

KIND = "application/x-thing"


def read(script: str, *arguments: str, body: bytes = b"body", **settings: Any) -> tuple[Page, ...]:
    """Parse by a little program in Python."""
    command = (sys.executable, "-I", "-c", script, *arguments)
    given = CommandSettings(command=command, media_types=(KIND,), **settings)
    return tuple(CommandParser(Setup(load(), given)).parse(content(body, KIND)))


def test_document_is_piped_through_standard_input_and_output() -> None:
    (page,) = read("import sys; print(sys.stdin.read().upper(), 'http://l.example/')", body=b"words" * 100_000)

    assert page.text == "WORDS" * 100_000 + " http://l.example/"
    assert [link.target.text for link in page.outlinks] == ["http://l.example/"]
    assert page.media_type == KIND
    assert page.doubt == ""


def test_program_can_receive_a_file_the_url_and_the_type() -> None:
    (page,) = read(
        "import sys; print(open(sys.argv[1]).read(), *sys.argv[2:])", "{file}", "u={url}", "{type}{type}", "{other}"
    )

    assert page.text == f"body u=http://a.example/files/document {KIND}{KIND} {{other}}"


def test_temporary_file_is_removed() -> None:
    (page,) = read("import sys; print(sys.argv[1])", "{file}")

    assert page.text
    assert not Path(page.text).parent.exists()


def test_the_environment_is_bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CRAWL", "x")

    (page,) = read("import os; print(sorted(os.environ))")

    assert "SECRET" not in page.text
    assert "PATH" in page.text


def test_html_is_read_as_html() -> None:
    (page,) = read("print('<title>T</title><p>Words <a href=x>l</a>')", output="html")

    assert (page.title, page.text, page.media_type) == ("T", "Words l", KIND)
    assert [link.target.text for link in page.outlinks] == ["http://a.example/files/x"]


def test_an_answer_in_json_has_title_text_links_and_metadata() -> None:
    (page,) = read(
        'print(\'{"title": "T", "text": "x", "links": [{"url": "/l", "anchor": "L"}], "metadata": {"k": "v"}}\')',
        output="json",
    )

    assert (page.title, page.text, page.metadata) == ("T", "x", {"k": "v"})
    assert [(link.target.text, link.anchor) for link in page.outlinks] == [("http://a.example/l", "L")]


@pytest.mark.parametrize("answer", ["", "no", "[1]", '{"title": 3}', '{"links": [{}]}'])
def test_invalid_json_output_is_reported(answer: str) -> None:
    (page,) = read(f"print({answer!r})", output="json")

    assert page.doubt.startswith("the command wrote invalid JSON")


def test_failing_program_is_reported_with_its_error() -> None:
    (page,) = read("import sys; print('half'); sys.exit('cannot read this\\nand more')")

    assert (page.text, page.doubt) == ("half", "the command ended with exit code 1: cannot read this")


def test_program_without_output_yields_no_page() -> None:
    assert read("pass") == ()


def test_slow_program_is_killed_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "child"
    script = f"sleep 60 & echo $! > {note}; echo begun; wait"
    settings = CommandSettings(command=("/bin/sh", "-c", script), media_types=(KIND,), timeout=timedelta(seconds=1.5))
    started = time.monotonic()

    (page,) = CommandParser(Setup(load(), settings)).parse(content(b"", KIND))

    assert page.text == "begun"
    assert page.doubt == "the command took longer than 1.5 s"
    assert time.monotonic() - started < 20
    assert _is_gone(int(note.read_text()))


def test_endless_output_is_stopped() -> None:
    (page,) = read("while True: print('x' * 10_000)", output_limit=100_000)

    assert len(page.text) <= 100_000
    assert page.doubt == "the command exceeded its output limit"


def test_program_may_ignore_its_input() -> None:
    (page,) = read("print('x')", body=b"y" * 5_000_000)

    assert page.text == "x"


def test_the_time_of_a_program_ends_before_that_of_the_parser_process() -> None:
    settings = load(overrides=["parse.timeout=4s"])

    parser = CommandParser(Setup(settings, CommandSettings(command=(sys.executable,))))

    assert parser._seconds == 3.0


def test_missing_program_is_reported_at_start() -> None:
    with pytest.raises(ConfigError, match="'no-such-program' was not found"):
        CommandParser(Setup(load(), CommandSettings(command=("no-such-program",))))


def test_unset_command_is_reported_at_start() -> None:
    with pytest.raises(ConfigError, match="no command configured"):
        CommandParser(Setup(load()))


def test_the_settings_are_read_from_the_plug_ins_table(tmp_path: Path) -> None:
    file = tmp_path / "scoter.toml"
    file.write_text('[plugin.parser-command]\ncommand = ["cat"]\nmedia_types = ["Image/X"]\ntimeout = "3s"\n')

    settings = plugin_settings(load(file), "parser-command", CommandSettings)
    parser = CommandParser(Setup(load(), settings))

    assert parser.media_types == ("image/x",)


def _is_gone(process: int) -> bool:
    """Tell whether a process has ended; it may linger as a zombie until somebody asks after it."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
            if " Z " in Path(f"/proc/{process}/stat").read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
    return False


def test_program_that_closes_its_output_and_goes_on_is_ended() -> None:
    began = time.monotonic()

    (page,) = read(
        "import os, time; os.write(1, b'begun'); os.close(1); os.close(2); time.sleep(60)",
        timeout=timedelta(seconds=1.5),
    )

    assert page.doubt == "the command took longer than 1.5 s"
    assert time.monotonic() - began < 30
