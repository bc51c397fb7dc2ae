"""Tables, status lines and colours on terminals and in pipes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest

from scoter.cli.output import StatusLine, paint, width
from scoter.cli.parsecheck.layout import TextLine, show
from scoter.cli.results import print_rows, print_table

WIDE = "日本語の長い題名" * 20


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, kind: str = "xterm", **said: str) -> Iterator[Terminal]:
    """Give commands a terminal of 40 columns."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"COLUMNS": "40", "TERM": kind, **said}.items():
        monkeypatch.setenv(name, value)
    with redirect_stdout(Terminal()) as made, redirect_stderr(made):
        yield made


def test_table_with_wide_characters_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as shown:
        print_table([{"host": "a.org", "title": WIDE}], ["host", "title"])

    lines = shown.getvalue().splitlines()
    assert max(map(width, lines)) <= 40
    assert lines[2].endswith("…")


def test_status_line_with_wide_characters_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as shown:
        StatusLine().show(WIDE)

    text = shown.getvalue().removeprefix("\r\x1b[K")
    assert width(text) < 40
    assert text.endswith("…")


def test_dumb_terminal_gets_no_escape_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "dumb") as shown:
        line = StatusLine()
        line.show("round 1")
        line.note("done")
        show([TextLine("Document", is_title=True)])
        print(paint("ok", "green"))

    assert shown.getvalue() == "done\nDocument\nok\n"


BOLD = "\x1b[1mDocument\x1b[0m\n\x1b[32mok\x1b[0m\n"
PLAIN = "Document\nok\n"


@pytest.mark.parametrize(
    ("kind", "said", "shown"),
    [
        ("xterm", {}, BOLD),
        ("xterm", {"NO_COLOR": ""}, BOLD),
        ("xterm", {"NO_COLOR": "1"}, PLAIN),
        ("xterm", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, PLAIN),
        ("dumb", {"FORCE_COLOR": "1"}, BOLD),
        ("dumb", {"FORCE_COLOR": "0"}, PLAIN),
        ("xterm", {"FORCE_COLOR": "0"}, BOLD),
    ],
)
def test_environment_decides_about_colours(
    monkeypatch: pytest.MonkeyPatch, kind: str, said: dict[str, str], shown: str
) -> None:
    with terminal(monkeypatch, kind, **said) as made:
        show([TextLine("Document", is_title=True)])
        print(paint("ok", "green"))

    assert made.getvalue() == shown


@pytest.mark.parametrize(("forced", "shown"), [("", PLAIN), ("0", PLAIN), ("1", BOLD), ("3", BOLD)])
def test_pipe_gets_colours_only_when_forced(monkeypatch: pytest.MonkeyPatch, forced: str, shown: str) -> None:
    monkeypatch.setenv("FORCE_COLOR", forced)
    monkeypatch.delenv("NO_COLOR", raising=False)
    with redirect_stdout(io.StringIO()) as made:
        show([TextLine("Document", is_title=True)])
        print(paint("ok", "green"))

    assert made.getvalue() == shown


ROWS = [
    {"url": "http://a.example/" + "x" * 90, "n": number, "title": WIDE if number % 2 else ""} for number in range(1_200)
]
ROWS.append({"url": "http://a.example/" + "y" * 200, "n": 123_456_789, "title": "last"})


def test_long_table_is_narrowed_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as shown:
        print_rows(iter(ROWS), ["url", "n", "title"], "table")

    lines = shown.getvalue().splitlines()
    assert len(lines) == 1_203
    assert max(map(width, lines)) <= 40
    assert lines[0].split() == ["url", "n", "title"]
    assert lines[2].split() == ["http://a.exampl…", "0"]
    assert lines[3].split()[:2] == ["http://a.exampl…", "1"]
    assert lines[3].endswith("…")
    assert lines[-1].split() == ["http://a.exa…", "123456789", "last"]


def test_table_that_fits_is_not_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, COLUMNS="130") as shown:
        print_rows([{"url": "x" * 120, "n": 1}], ["url", "n"], "table")

    assert "x" * 120 + "  1\n" in shown.getvalue()


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_nothing_is_truncated_in_a_pipe(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")) as made:
        print_rows(ROWS, ["url", "n", "title"], form)
        made.flush()

    text = made.buffer.getvalue().decode()
    assert "…" not in text
    assert (text.count(WIDE), text.count("y" * 200)) == (600, 1)
