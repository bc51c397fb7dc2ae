"""The report on a site's health and main text from the archive, of a crawl in an object store: as of a local one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.batch.site.faulty_site import FaultySite, serving
from tests.stores.proxy import StoreProxy
from tests.stores.test_crawl import ended

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.site.tables import SiteFolder
from scoter.store.objects.copies import local_file

pytestmark = [pytest.mark.stores, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def site() -> Iterator[FaultySite]:
    with serving() as found:
        yield found


@pytest.fixture
def crawls(store: StoreProxy, url: str, site: FaultySite, tmp_path: Path) -> tuple[str, str]:
    """The same site, crawled into a local directory and into the store."""
    places = (str(tmp_path / "crawl"), url)
    for place in places:
        options = ("--scope", "host", "--rounds", "8", "-D", "fetch.processes=1", "-D", "store.disk_floor=0B")
        command = [sys.executable, "-m", "scoter", "crawl", place, f"{site.origin}/", *options, *site.settings]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    return places


def printed(capfd: pytest.CaptureFixture[str], *command: str) -> tuple[int, str]:
    capfd.readouterr()
    code = ended(list(command))
    told = capfd.readouterr()
    assert code in (0, 1), told.err
    return code, told.out


def problems(capfd: pytest.CaptureFixture[str], place: str, site: FaultySite, *options: str) -> list[str]:
    """Return the problems of a site as sorted lines; of times that differ, only their URLs."""
    code, out = printed(capfd, "report", place, "site", "--json", *options, *site.settings)
    assert code == 0
    rows = map(json.loads, out.splitlines())
    timed = ("slow-pages",)
    return sorted(f"{row['problem']} {row['url']}" if row["problem"] in timed else json.dumps(row) for row in rows)


def test_site_report_of_a_store_equals_that_of_a_local_crawl(
    crawls: tuple[str, str],
    site: FaultySite,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    remote = crawls[1]

    plain = [problems(capfd, place, site) for place in crawls]
    checked = [problems(capfd, place, site, "--check-links") for place in crawls]
    again = printed(capfd, "report", remote, "site", "broken-links", "--json", *site.settings)[1]
    failing, _ = printed(capfd, "report", remote, "site", "--fail-on", "broken", *site.settings)
    page, _ = printed(capfd, "report", remote, "site", "--html", "health.html", *site.settings)

    assert plain[0] == plain[1]
    assert checked[0] == checked[1]
    assert len(checked[1]) > len(plain[1]) > 20
    assert len(again.splitlines()) == sum('"broken-links"' in line for line in checked[1])
    assert (failing, page) == (1, 0)
    assert "broken-links" in (tmp_path / "health.html").read_text()
    assert SiteFolder(CrawlDir.open(remote)).names("checks-")
    assert not list(tmp_path.glob("s3:*"))


def main_texts(crawl: CrawlDir) -> dict[str, tuple[Any, Any]]:
    """Return the main text and Markdown that was made of each page."""
    found: dict[str, tuple[Any, Any]] = {}
    for segment in crawl.all_segments():
        made = segment.main_text(markdown=True)
        for name in made.finished():
            rows = pq.read_table(local_file(made.location(name)), columns=["url", "main_text", "markdown"]).to_pylist()
            found |= {row["url"]: (row["main_text"], row["markdown"]) for row in rows}
    return found


def test_main_text_of_a_store_equals_that_of_a_local_crawl_and_is_kept(
    crawls: tuple[str, str],
    store: StoreProxy,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    remote = crawls[1]

    for number, place in enumerate(crawls):
        assert printed(capfd, "export", place, f"out-{number}", "--format", "markdown")[0] == 0
    made = [main_texts(CrawlDir.open(place)) for place in crawls]
    store.reset()
    assert printed(capfd, "export", remote, "again", "--format", "markdown")[0] == 0

    assert made[0] == made[1]
    assert len(made[1]) > 20
    assert any(markdown for _, markdown in made[1].values())
    assert not [each for each in store.counts() if each == "PUT"]  # nothing was made again
    texts = [sorted(file.read_text() for file in (tmp_path / name).rglob("*.md")) for name in ("out-1", "again")]
    assert texts[0] == texts[1] != []
    assert not list(tmp_path.glob("s3:*"))
