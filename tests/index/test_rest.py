"""What pages say beside their main text is found, but counts little."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.index.indexes import document, urls, write

MAIN, MENU = "http://a.org/main", "http://a.org/menu"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    other = document(MENU, "Fish", "Fish is all they eat.")
    write(
        tmp_path,
        replace(other, rest="Tusks\n" * 20),
        document(MAIN, "Animals", "A long text about many animals, of which a single one has tusks, and no more."),
    )
    return tmp_path


def test_page_with_a_word_in_its_menu_comes_after_one_with_it_in_its_main_text(folder: Path) -> None:
    assert urls(folder, "tusks") == [MAIN, MENU]


def test_excluded_word_in_a_menu_excludes_no_page(folder: Path) -> None:
    assert urls(folder, "eat -tusks") == [MENU]
