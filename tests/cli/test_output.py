"""What is printed on a terminal fits it, and shows nothing that it cannot."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest

from scoter.cli.checking.lines import Line, show
from scoter.cli.lookup import paint
from scoter.cli.output import print_table, width
from scoter.cli.progress import StatusLine

WIDE = "日本語の長い題名" * 20


class Terminal(io.StringIO):
    """Somebody is watching."""

    def isatty(self) -> bool:
        return True


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, kind: str = "xterm") -> Iterator[Terminal]:
    """Give commands a terminal of 40 columns."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", kind)
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
