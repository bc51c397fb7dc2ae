"""A page of each kind, with what is to be read of it beside it: NAME.html, NAME.txt, NAME.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.parse.main.rendering import main_of, tokens

PAGES = sorted((Path(__file__).parent / "pages").glob("*.html"))


@pytest.fixture(params=PAGES, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_the_markdown_of_a_page_reads_as_it_did(path: Path) -> None:
    assert main_of(path.read_bytes()).markdown + "\n" == path.with_suffix(".md").read_text()


def test_the_main_text_of_a_page_reads_as_it_did(path: Path) -> None:
    assert main_of(path.read_bytes()).text + "\n" == path.with_suffix(".txt").read_text()


def test_the_markdown_of_a_page_holds_no_html(path: Path) -> None:
    found = main_of(path.read_bytes())

    assert not {"html_block", "html_inline"} & {token.type for token in tokens(found.markdown)}
