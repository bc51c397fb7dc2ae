from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from scoter.cli.main import MODULES
from scoter.cli.manual import MAN_PAGE, PAGE, commands_page, man_page

DOCS = Path(__file__).parents[2] / "docs"


def test_pages_in_docs_are_current() -> None:
    assert (DOCS / PAGE).read_text("utf-8") == commands_page(), "run make docs"
    assert (DOCS / MAN_PAGE).read_text("utf-8") == man_page(), "run make docs"


def test_man_page_has_every_command_and_its_options() -> None:
    page = man_page()

    assert [name for name in MODULES if f".SS scoter {name}".replace("-", r"\-") not in page] == []
    assert page.count(r"\fB\-\-until\-done\fR") == 1
    assert page.count(r"\fB\-\-json\fR") == 1, "the common options are described once"
    assert "Ctrl\\-C, or a file named STOP in DIR" in page.replace("\n", " ")


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="needs mandoc")
def test_man_page_has_no_errors() -> None:
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", DOCS / MAN_PAGE], capture_output=True, text=True, check=False
    )

    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_man_page_is_typeset_without_warnings() -> None:
    command = ["groff", "-man", "-K", "utf8", "-T", "utf8", "-ww", "-z", str(DOCS / MAN_PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
