"""Directories of earlier versions open as they are, and their work continues."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Outcome, run_in_process
from tests.fixtures.make_directories import FOLDER, TIMELESS, WEB
from tests.live.service.running import announced, service

from scoter.simweb import SimServer, running

ARCHIVES = sorted(FOLDER.glob("directories-*.tar.xz"))


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(WEB) as server:
        yield server


@pytest.fixture(params=ARCHIVES, ids=[file.name.removesuffix(".tar.xz") for file in ARCHIVES])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Old:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="tar")
    return Old(tmp_path)


class Old:
    """The directories of an earlier version, and what their script noted about them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: dict[str, Any] = json.loads((folder / "made.json").read_text())

    def run(self, *arguments: str) -> Outcome:
        done = run_in_process(self.folder, *arguments)
        assert done.code == 0, done.err
        return done

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run(*arguments, "--json").out.splitlines()]


def test_there_are_directories_of_earlier_versions() -> None:
    assert ARCHIVES


def test_every_table_of_an_old_crawl_is_read(old: Old) -> None:
    seeds, stats = old.made["crawl"]["seeds"], old.made["crawl"]["stats"]

    (counted,) = old.rows("readdb", "crawl", "--stats")
    segments = old.rows("readseg", "crawl", "--list")
    (held, *_) = old.rows("readseg", "crawl", "--get", seeds[0])
    (asked,) = old.rows("sql", "crawl", "SELECT count(*) AS n FROM pages JOIN crawldb USING (url)")
    links = old.run("readlinkdb", "crawl", "--dump", "-", "--format", "json").out.splitlines()
    hosts = old.run("readhostdb", "crawl", "--dump", "-", "--format", "json").out.splitlines()
    old.run("index", "crawl")  # an index is made again, not read, if its format has changed
    found = old.rows("search", "crawl", held["parse_data"]["title"])

    assert (counted["urls"], counted["statuses"]) == (stats["urls"], stats["statuses"])
    assert len(segments) == 2
    assert asked["n"] > 0
    assert links
    assert len(hosts) == stats["hosts"]
    assert seeds[0] in [each["url"] for each in found]


def test_settings_of_an_old_crawl_are_used_with_one_warning(old: Old) -> None:
    (old.folder / "scoter.toml").rename(old.folder / "old.toml")

    shown = old.run("config", "show", "--crawl", "crawl", "--trust-settings")
    by_file = old.run("-c", "old.toml", "config", "show")

    for done, place in ((shown, "crawl/settings.toml"), (by_file, "old.toml")):
        given = {line.partition("  # ")[0] for line in done.out.splitlines() if f"# {place}:" in line}
        assert {'max_interval = "60d"', 'schedule = "adaptive"', 'signature = "text-profile"'} <= given
        assert {
            'filters = ["headings"]',
            'normalizers = ["basic"]',
            'publishers = ["file"]',
            "processors = []",
        } <= given
        assert done.err.count("\n") == done.err.count("Renamed settings") == 1
        assert f"generate.min_interval is now generate.max_interval ({place}:" in done.err


def test_old_crawl_continues_for_another_round(old: Old, web: SimServer) -> None:
    to_web = ("-D", f'fetch.connect_to=["*:*=127.0.0.1:{web.port}"]')

    old.run("crawl", "crawl", "--trust-settings", "--rounds", "1", "--top-n", "5", "--index", *to_web)

    *_, newest = segments = old.rows("readseg", "crawl", "--list")
    assert len(segments) == 3
    assert (newest["state"], newest["statuses"]) == ("applied", {"success": 5})


@pytest.mark.slow
def test_old_live_directory_is_served_and_finishes_what_waits(old: Old, web: SimServer) -> None:
    made, folder = old.made["live"], old.folder / "live"
    key = f"Bearer {made['key']}"

    with service(folder, web.port, *TIMELESS, options=["--with-keys"]) as live:
        live.wait_until_ready()
        refused = live.get("/v1/domains")
        rules = live.ask("GET", "/v1/domains", key=key).json["domains"]
        known = live.ask("POST", "/v1/urls/lookup", {"urls": made["finished"]}, key=key).json
        repeated = live.ask("POST", "/v1/messages", {"id": "finished", "urls": made["finished"]}, key=key).json
        admin = f"Bearer {old.run('serve', '--dir', 'live', '--new-key', 'admin', '--scopes', 'admin').out.strip()}"
        live.ask("PUT", "/v1/domains/grebe0.test", {}, key=admin)
        live.wait_for(lambda: len(announced(live, "waiting")) == 2)
        old.run("backup", "live", "copy")

    assert refused.status == 401
    assert {rule["domain"]: rule for rule in rules}["blocked.example"]["blocked"]
    assert {rule["domain"]: rule for rule in rules}["grebe0.test"]["delay"] == 3600
    assert [each["state"] for each in known["results"]] == ["ok", "ok"]
    assert repeated["messages"][0]["status"] == "known"
    assert (old.folder / "copy" / "service.sqlite").stat().st_size > 0
    reported = {row["page"] for row in old.rows("report", "live", "pages-from", "grebe0.test")}
    assert reported == {*made["finished"], *made["waiting"]}
