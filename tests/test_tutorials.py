"""The tutorials work when they are followed literally, and their pictures are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.test_readme import ROOT
from tests.tutorials import run_tutorial

PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
LARGEST = 150_000


@pytest.mark.slow
@pytest.mark.parametrize("name", [page.name for page in PAGES if page.name != "index.md"])
def test_a_tutorial_works_when_it_is_followed_literally(name: str, tmp_path: Path) -> None:
    run_tutorial(name, tmp_path)


def test_pictures_and_links_of_tutorials_are_there() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            if "://" not in target:
                file = page.parent / target
                assert file.is_file(), target
                assert file.suffix != ".png" or file.stat().st_size < LARGEST, target
