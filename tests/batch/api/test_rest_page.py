"""The examples of docs/rest.md do what the page shows."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from tests.batch.api.server import serving_crawls
from tests.batch.api.test_whole_crawl import until

from scoter.batch.api.app import BATCH_ROUTES
from scoter.client import CrawlClient
from scoter.simweb import WebSpec, running

PAGE = (Path(__file__).parents[3] / "docs" / "rest.md").read_text("utf-8")


@pytest.mark.slow
def test_examples_print_what_the_page_shows(tmp_path: Path) -> None:
    folder = tmp_path / "crawls"
    folder.mkdir()
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    with running(WebSpec(hosts=3, pages=6)) as web, serving_crawls(folder, web.port) as url:
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.MULTILINE):
            command = command.replace("http://127.0.0.1:8010", url)
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
            pattern = ".*".join(map(re.escape, shown.strip().split("…")))
            assert re.fullmatch(pattern, done.stdout.strip()), (command, done.stdout)
            until(partial(_is_idle, url))
        code = code.replace("http://127.0.0.1:8010", url)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)

    assert done.stdout == "finished\n[{'many': True}]\n"


def _is_idle(url: str) -> bool:
    with CrawlClient(url) as client:
        return client.crawl("news").state != "running"


def test_every_path_is_on_the_page() -> None:
    for route in BATCH_ROUTES:
        last = next(part for part in reversed(route.path.split("/")) if not part.startswith("{"))
        assert last in PAGE
