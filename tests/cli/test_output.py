"""What is printed on a terminal fits it, and shows nothing that it cannot."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest

from scoter.cli.checking.lines import Line, show
from scoter.cli.output import paint, print_table, width
from scoter.cli.progress import StatusLine

WIDE = "日本語の長い題名" * 20


class Terminal(io.StringIO):
    """Somebody is watching."""

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


def test_a_table_of_wide_characters_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as shown:
        print_table([{"host": "a.org", "title": WIDE}], ["host", "title"])

    lines = shown.getvalue().splitlines()
    assert max(map(width, lines)) <= 40
    assert lines[2].endswith("…")


def test_a_status_line_of_wide_characters_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as shown:
        StatusLine().show(WIDE)

    text = shown.getvalue().removeprefix("\r\x1b[K")
    assert width(text) < 40
    assert text.endswith("…")


def test_a_terminal_without_escape_sequences_is_sent_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "dumb") as shown:
        line = StatusLine()
        line.show("round 1")
        line.note("done")
        show([Line("Document", is_title=True)])
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
def test_colours_are_as_the_environment_wants_them(
    monkeypatch: pytest.MonkeyPatch, kind: str, said: dict[str, str], shown: str
) -> None:
    with terminal(monkeypatch, kind, **said) as made:
        show([Line("Document", is_title=True)])
        print(paint("ok", "green"))

    assert made.getvalue() == shown


@pytest.mark.parametrize(("forced", "shown"), [("", PLAIN), ("0", PLAIN), ("1", BOLD), ("3", BOLD)])
def test_a_pipe_gets_colours_only_when_forced(monkeypatch: pytest.MonkeyPatch, forced: str, shown: str) -> None:
    monkeypatch.setenv("FORCE_COLOR", forced)
    monkeypatch.delenv("NO_COLOR", raising=False)
    with redirect_stdout(io.StringIO()) as made:
        show([Line("Document", is_title=True)])
        print(paint("ok", "green"))

    assert made.getvalue() == shown
