"""The API records agree with the limits of the crawler."""

from __future__ import annotations

import subprocess
import sys

from scoter.core.extract import LONGEST
from scoter.http.records import LONGEST_URL


def test_longest_url_is_the_one_the_crawler_accepts() -> None:
    assert LONGEST_URL == LONGEST


def test_importing_the_records_loads_no_other_package() -> None:
    code = "import sys, scoter.live.api.records; print(*sorted(m for m in sys.modules if m.startswith('scoter')))"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert loaded.split() == [
        "scoter",
        "scoter.http",
        "scoter.http.records",
        "scoter.live",
        "scoter.live.api",
        "scoter.live.api.records",
    ]
