"""The page about the archive: its examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.store.exchanges import exchange, open_part

PAGE = Path(__file__).parents[2] / "docs" / "archive.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=["scoter", "warcio", "fastwarc"])
def test_example_on_the_page_reads_an_archive(tmp_path: Path, code: str) -> None:
    part = open_part(tmp_path, "crawl")
    part.append(exchange("http://example.com/a", b"one"))
    part.finish()

    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.startswith("http://example.com/a")
    assert " 3\n" in done.stdout
