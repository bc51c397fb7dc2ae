"""Crawls over HTTP: the list, one of them, and a new one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.batch.api.crawls import HOST, SEED, BatchBench, names, until

from scoter.batch.api.crawl_folder import CrawlFolder
from scoter.batch.crawldir.directory import CrawlDir
from scoter.errors import UsageError

TRUE = ["/bin/true"]


async def test_crawls_are_listed_with_state_rounds_urls_and_size(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    path = bench.add_crawl()
    (tmp_path / "notes").mkdir()

    got = await bench.client.get("/v1/crawls")

    (crawl,) = got.json["crawls"]
    assert (crawl["name"], crawl["state"], crawl["rounds"]) == ("news", "finished", 2)
    assert crawl["urls"] > 10
    assert crawl["size"] == sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    assert crawl["progress"]["ended"] == "2 rounds done"


async def test_urls_by_status_are_counted_in_the_background_once_per_version(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    bench.add_crawl()
    first = (await bench.client.get("/v1/crawls/news")).json

    async def counted() -> dict[str, int]:
        found: dict[str, int] = (await bench.client.get("/v1/crawls/news")).json.get("by_status", {})
        return found

    for _ in range(200):
        by_status = await counted()
        if by_status:
            break
    assert sum(by_status.values()) == first["urls"]
    assert by_status["fetched"] > 0


async def test_the_list_has_pages(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    for name in "abc":
        CrawlDir.create(tmp_path / name, bench.clock())

    first = (await bench.client.get("/v1/crawls?limit=2")).json
    second = (await bench.client.get(f"/v1/crawls?limit=2&after={first['next']}")).json

    assert [each["name"] for each in first["crawls"]] == ["a", "b"]
    assert [each["name"] for each in second["crawls"]] == ["c"]
    assert second["next"] is None


@pytest.mark.parametrize("name", ["..", "%2e%2e", "..%2fother", "other%2fnews", ".scoter", "link", "none", "file"])
async def test_no_name_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    bench = BatchBench(tmp_path / "folder")
    CrawlDir.create(tmp_path / "other", bench.clock())
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "folder" / "file").write_text("")

    for target in (f"/v1/crawls/{name}", f"/v1/crawls/{name}/urls", f"/v1/crawls/{name}/jobs"):
        assert (await bench.client.get(target)).status == 404
    assert (await bench.client.get("/v1/crawls")).json["crawls"] == []


async def test_a_new_crawl_is_created_and_started(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, program=["/bin/echo"])
    order = {
        "name": "new",
        "seeds": [SEED],
        "options": {"rounds": 3, "scope": "host", "dedup": False, "until_done": True},
        "settings": {"fetch.delay": "2s", "db.ignore_external_links": True},
    }

    got = await bench.client.post("/v1/crawls", order)

    assert got.status == 201
    job = got.json["job"]
    await until(lambda: bench.jobs.one("new", job["id"]).state == "succeeded")
    files = tmp_path / ".scoter" / "jobs" / job["id"]
    assert (files / "seeds").read_text() == SEED + "\n"
    words = (files / "result").read_text().split()
    assert words[:2] == ["crawl", "--json"]
    assert set(words[2:-3]) == {
        *("--rounds=3", "--scope=host", "--no-dedup", "--until-done"),
    }
    assert words[-3:] == ["--", str(tmp_path / "new"), str(files / "seeds")]


@pytest.mark.parametrize(
    ("change", "where", "told"),
    [
        ({"name": "../x"}, "/name", "Expected"),
        ({"name": ""}, "/name", "Expected"),
        ({"seeds": []}, "/seeds", "length"),
        ({"seeds": ["/etc/passwd"]}, "/options/seeds/0", "not a URL"),
        ({"seeds": ["file:///etc/passwd"]}, "/options/seeds/0", "server cannot be crawled"),
        ({"options": {"scope": "galaxy"}}, "/options/scope", "host, domain, any"),
        ({"options": {"rounds": "3"}}, "/options/rounds", "integer"),
        ({"options": {"rounds": True}}, "/options/rounds", "integer"),
        ({"options": {"rounds": 0}}, "/options/rounds", "0"),
        ({"options": {"roundz": 3}}, "/options/roundz", "did you mean 'rounds'"),
        ({"options": {"agent": "a\nb"}}, "/options/agent", "single lines"),
        ({"options": {"seeds": ["/etc"]}}, "/options/seeds", "beside"),
        ({"settings": {"fetch.dealy": "1s"}}, "/settings/fetch.dealy", "fetch.delay"),
        ({"settings": {"fetch.delay": "soon"}}, "/settings", "fetch.delay"),
        ({"settings": {"urlfilter.regex_file": "/etc/passwd"}}, "/settings/urlfilter.regex_file", "not a setting"),
        ({"settings": {"fetch.connect_to": ["*:*=10.0.0.1:22"]}}, "/settings/fetch.connect_to", "not a setting"),
        ({"settings": {"http.proxy_host": "10.0.0.1"}}, "/settings/http.proxy_host", "not a setting"),
        ({"settings": {"plugin.x.command": "sh"}}, "/settings/plugin.x.command", "not a setting"),
        ({"colour": "red"}, "", "unknown field"),
    ],
)
async def test_a_wrong_order_is_refused_and_leaves_nothing_behind(
    change: dict[str, object], where: str, told: str, tmp_path: Path
) -> None:
    bench = BatchBench(tmp_path, program=TRUE)

    got = await bench.client.post("/v1/crawls", {"name": "new", "seeds": [SEED], **change})

    assert got.status == 422
    assert got.json.get("where", "").startswith(where)
    assert told in json.dumps(got.json)
    assert names(tmp_path) == [".scoter"]
    assert names(tmp_path / ".scoter") == []


async def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, program=TRUE)
    (tmp_path / "new").mkdir()

    got = await bench.client.post("/v1/crawls", {"name": "new", "seeds": [SEED]})

    assert got.status == 409


async def test_a_damaged_and_a_newer_crawl_are_listed_with_their_problem(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, program=TRUE)
    for name, text in (("damaged", "{"), ("newer", '{"format": 99, "created": "2030-01-01T00:00:00Z"}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "crawl.json").write_text(text)

    found = {each["name"]: each for each in (await bench.client.get("/v1/crawls")).json["crawls"]}

    assert {each["state"] for each in found.values()} == {"unusable"}
    assert "damaged" in found["damaged"]["problem"]
    assert "newer version" in found["newer"]["problem"]
    assert str(tmp_path) not in json.dumps(found)
    for name in found:
        assert (await bench.client.get(f"/v1/crawls/{name}/urls")).status == 409
        assert (await bench.client.post(f"/v1/crawls/{name}/jobs", {})).status == 409


async def test_a_damaged_crawldb_is_reported(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    path = bench.add_crawl()
    (path / "crawldb" / "CURRENT").write_text("nonsense")

    shown = await bench.client.get("/v1/crawls/news")
    rows = await bench.client.get("/v1/crawls/news/urls")

    assert shown.json["state"] == "unusable"
    assert rows.status == 409


def test_a_missing_folder_and_a_crawl_in_place_of_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        CrawlFolder(tmp_path / "none")
    CrawlDir.create(tmp_path / "crawl", BatchBench(tmp_path).clock())
    with pytest.raises(UsageError, match="not a folder of crawls"):
        CrawlFolder(tmp_path / "crawl")


async def test_a_foreign_host_name_is_refused_without_keys(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    bench.client.headers = (("Host", "evil.example"),)

    assert (await bench.client.get("/v1/crawls")).status == 421
    bench.client.headers = (HOST,)
    assert (await bench.client.get("/v1/crawls")).status == 200
