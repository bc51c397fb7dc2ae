"""Jobs over HTTP: started, listed, stopped, and remembered across restarts of the server."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.batch.api.crawls import SEED, BatchBench, names, until

from scoter.batch.api.commands import IMPORTING
from scoter.batch.crawldir.directory import CrawlDir
from scoter.cli.job_commands import JOB_COMMANDS, NOT_JOBS
from scoter.cli.main import COMMANDS, MODULES, load_command

NUTCH_CRAWL = Path(__file__).parents[3] / "examples" / "nutch-crawl"
SLOW = [
    *(sys.executable, "-c"),
    """
import signal, sys, time
def stop(*_): print('stopping', file=sys.stderr); sys.exit(130)
signal.signal(signal.SIGINT, stop)
print('started', file=sys.stderr, flush=True)
time.sleep(60)
""",
]
FAILING = ["/bin/sh", "-c", 'echo "scoter: something is wrong" >&2; exit 2']


def bench_with(tmp_path: Path, *program: str, **changes: Any) -> BatchBench:
    bench = BatchBench(tmp_path, program=list(program), **changes)
    if not (tmp_path / "news").exists():
        CrawlDir.create(tmp_path / "news", bench.clock())
    return bench


async def started(bench: BatchBench) -> str:
    """Start a job and wait until its process runs."""
    got = await bench.client.post("/v1/crawls/news/jobs", {})
    assert got.status == 202
    identity: str = got.json["id"]
    await until(lambda: "started" in bench.jobs.log("news", identity, 10))
    return identity


async def test_a_job_is_started_shown_and_stopped_as_by_ctrl_c(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, *SLOW)
    identity = await started(bench)

    shown = (await bench.client.get(f"/v1/crawls/news/jobs/{identity}")).json
    crawl = (await bench.client.get("/v1/crawls/news")).json
    stop = await bench.client.post(f"/v1/crawls/news/jobs/{identity}/stop", {})

    assert (shown["state"], shown["command"]) == ("running", "crawl")
    assert crawl["state"] == "running"
    assert stop.status == 202
    await until(lambda: bench.jobs.reap())
    ended = (await bench.client.get(f"/v1/crawls/news/jobs/{identity}")).json
    assert (ended["state"], ended["exit_code"]) == ("stopped", 130)
    assert ended["last_lines"] == ["started", "stopping"]
    assert (await bench.client.get("/v1/crawls/news")).json["state"] == "stopped"


async def test_a_job_can_be_killed(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, *SLOW)
    identity = await started(bench)

    await bench.client.post(f"/v1/crawls/news/jobs/{identity}/stop", {"how": "kill"})

    await until(lambda: bench.jobs.reap())
    assert bench.jobs.one("news", identity).state == "stopped"


async def test_a_second_writer_gets_409_that_names_the_first(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, *SLOW)
    identity = await started(bench)

    got = await bench.client.post("/v1/crawls/news/jobs", {"command": "generate"})

    assert got.status == 409
    assert identity in got.json["title"]
    bench.jobs.stop("news", identity, kill=True)
    await until(lambda: bench.jobs.reap())


async def test_a_job_goes_on_when_the_server_ends_and_the_next_server_finds_and_stops_it(tmp_path: Path) -> None:
    before = bench_with(tmp_path, *SLOW)
    identity = await started(before)

    bench = bench_with(tmp_path, *SLOW)
    shown = (await bench.client.get(f"/v1/crawls/news/jobs/{identity}")).json
    refused = await bench.client.post("/v1/crawls/news/jobs", {})
    await bench.client.post(f"/v1/crawls/news/jobs/{identity}/stop", {})
    await until(lambda: bench.jobs.one("news", identity).state != "stopping")

    assert shown["state"] == "running"
    assert refused.status == 409
    assert bench.jobs.one("news", identity).state == "stopped"
    assert bench.jobs.log("news", identity, 1) == ["stopping"]
    await until(lambda: before.jobs.reap())


async def test_a_job_that_fails_shows_its_last_lines(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, *FAILING)

    identity = (await bench.client.post("/v1/crawls/news/jobs", {})).json["id"]
    await until(lambda: bench.jobs.reap())

    (job,) = (await bench.client.get("/v1/crawls/news/jobs")).json["jobs"]
    assert (job["id"], job["state"], job["exit_code"]) == (identity, "failed", 2)
    assert job["last_lines"] == ["scoter: something is wrong"]
    assert (await bench.client.get("/v1/crawls/news")).json["state"] == "failed"
    log = await bench.client.get(f"/v1/crawls/news/jobs/{identity}/log?lines=5")
    assert log.json["lines"] == ["scoter: something is wrong"]


async def test_a_job_whose_processes_were_killed_is_shown_as_failed(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, *SLOW)
    identity = await started(bench)
    record = json.loads((tmp_path / ".scoter" / "jobs" / identity / "job.json").read_text())

    os.killpg(record["pid"], 9)
    await until(lambda: bench.jobs.reap())

    job = (await bench.client.get(f"/v1/crawls/news/jobs/{identity}")).json
    assert job["state"] == "failed"
    assert "exit_code" not in job
    assert job["last_lines"] == ["started"]


async def test_a_command_started_elsewhere_is_shown_through_the_lock_of_the_crawl(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, *SLOW)

    with CrawlDir(tmp_path / "news").lock("updatedb"):
        (job,) = (await bench.client.get("/v1/crawls/news/jobs")).json["jobs"]
        crawl = (await bench.client.get("/v1/crawls/news")).json
        refused = await bench.client.post("/v1/crawls/news/jobs", {})
        stop = await bench.client.post("/v1/crawls/news/jobs/elsewhere/stop", {})

    assert (job["id"], job["state"], job["command"]) == ("elsewhere", "elsewhere", "updatedb")
    assert f"process {os.getpid()}" in job["holder"]
    assert crawl["state"] == "running"
    assert refused.status == 409
    assert f"process {os.getpid()}" in refused.json["title"]
    assert stop.status == 409
    assert (await bench.client.get("/v1/crawls/news/jobs")).json["jobs"] == []


async def test_jobs_of_one_key_leave_room_for_those_of_others(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, *SLOW, max_running=2, share=0.5, required=True)
    CrawlDir.create(tmp_path / "other", bench.clock())
    greedy, other = await bench.token("submit"), await bench.token("submit")

    answers = [
        await bench.client.post(f"/v1/crawls/{crawl}/jobs", {}, header)
        for crawl, header in (("news", greedy), ("other", greedy), ("other", other))
    ]
    for crawl, got in (("news", answers[0]), ("other", answers[2])):
        bench.jobs.stop(crawl, got.json["id"], kill=True)
        await until(lambda: bench.jobs.reap())

    assert [got.status for got in answers] == [202, 429, 202]
    assert answers[1].json["type"] == "urn:scoter:problem:share"


async def test_the_number_of_running_jobs_and_of_records_is_limited(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, *SLOW, max_running=1)
    CrawlDir.create(tmp_path / "other", bench.clock())
    identity = await started(bench)

    got = await bench.client.post("/v1/crawls/other/jobs", {})
    bench.jobs.stop("news", identity, kill=True)
    await until(lambda: bench.jobs.reap())
    assert got.status == 503

    short = bench_with(tmp_path, "/bin/true", max_jobs=3)
    for _ in range(5):
        assert (await short.client.post("/v1/crawls/news/jobs", {})).status == 202
        await until(lambda: short.jobs.reap())
    assert len(short.jobs.all("news")) == 3


async def test_unknown_jobs_get_404(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, "/bin/true")

    for identity in ("none", "elsewhere", "..", "20261117T120000000000-0000"):
        assert (await bench.client.get(f"/v1/crawls/news/jobs/{identity}")).status == 404


async def test_a_full_disk_is_reported_and_leaves_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_with(tmp_path, "/bin/true")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    got = await bench.client.post("/v1/crawls/news/jobs", {})

    assert got.status == 503
    assert "No space left on device" in got.json["detail"]
    assert names(tmp_path / ".scoter" / "jobs") == []


async def test_commands_are_those_of_the_command_line(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, "/bin/true")

    found = (await bench.client.get("/v1/commands")).json

    assert [each["name"] for each in found["commands"]] == list(JOB_COMMANDS)
    for each in found["commands"]:
        known = {parameter.opts[0].lstrip("-").replace("-", "_") for parameter in load_command(each["name"]).params}
        assert {option["name"] for option in each["options"]} <= known
    crawl = {option["name"]: option for option in found["commands"][0]["options"]}
    assert crawl["scope"]["accepted"] == ["host", "domain", "any"]
    assert (crawl["rounds"]["type"], crawl["rounds"]["minimum"], crawl["rounds"]["default"]) == ("integer", 1, 5)
    assert "fetch.delay" in found["settings"]


async def test_order_with_a_former_name_of_a_setting_is_run_and_warned_of(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, overrides=("agent.name=testbot", "generate.max_interval=1d"))
    bench.add_crawl()
    order: dict[str, object] = {"command": "dedup", "settings": {"generate.min_interval": "2d"}}
    both = {**order, "settings": {"generate.min_interval": "2d", "generate.max_interval": "3d"}}

    refused = await bench.client.post("/v1/crawls/news/jobs", both)
    got = await bench.client.post("/v1/crawls/news/jobs", order)
    await until(lambda: bench.jobs.reap(), within=120)

    assert (refused.status, refused.json["where"]) == (422, "/settings")
    assert "generate.min_interval is now generate.max_interval" in refused.json["detail"]
    assert bench.jobs.one("news", got.json["id"]).state == "succeeded"
    log = (await bench.client.get(f"/v1/crawls/news/jobs/{got.json['id']}/log")).body.decode()
    assert "generate.min_interval is now generate.max_interval (SCOTER_GENERATE__MIN_INTERVAL)" in log
    assert "generate.min_interval" not in (await bench.client.get("/v1/commands")).body.decode()


async def test_order_with_a_former_name_of_an_option_is_run_by_that_name(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, "/bin/echo")
    order = {"command": "generate", "options": {"fetchers": 2}}
    both = {"command": "generate", "options": {"fetchers": 2, "lists": 2}}

    refused = await bench.client.post("/v1/crawls/news/jobs", both)
    got = await bench.client.post("/v1/crawls/news/jobs", order)
    await until(lambda: bench.jobs.reap())
    words = (tmp_path / ".scoter" / "jobs" / got.json["id"] / "result").read_text().split()
    (generate,) = (
        each for each in (await bench.client.get("/v1/commands")).json["commands"] if each["name"] == "generate"
    )

    assert (refused.status, refused.json["where"]) == (422, "/options/fetchers")
    assert "--fetchers=2" in words  # the job warns
    assert "lists" in [option["name"] for option in generate["options"]]
    assert "fetchers" not in [option["name"] for option in generate["options"]]


def test_every_command_for_batch_crawls_is_a_job_or_says_why_not() -> None:
    live = {*COMMANDS["Live service"], *COMMANDS["Check rules"], *COMMANDS["Set up"], *COMMANDS["Try it out"]}

    assert sorted((*JOB_COMMANDS, *NOT_JOBS)) == sorted(set(MODULES) - live)
    assert all(NOT_JOBS.values())


async def test_a_crawl_is_exported_below_its_own_folder(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    bench.add_crawl()
    options = {"out": "pages", "format": "jsonl", "fields": "url,title"}

    got = await bench.client.post("/v1/crawls/news/jobs", {"command": "export", "options": options})
    await until(lambda: bench.jobs.reap(), within=120)

    job = bench.jobs.one("news", got.json["id"])
    assert job.state == "succeeded", job
    assert json.loads((tmp_path / "news" / "exports" / "pages" / "manifest.json").read_text())["pages"] > 5


async def test_crawls_are_merged_into_a_new_one(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    bench.add_crawl("one")
    bench.add_crawl("two")
    order = {"command": "merge", "options": {"directories": ["one", "two"]}}

    wrong = await bench.client.post("/v1/crawls/x/jobs", {"command": "merge", "options": {"directories": ["three"]}})
    got = await bench.client.post("/v1/crawls/whole/jobs", order)
    listed = (await bench.client.get("/v1/crawls/whole/jobs")).json["jobs"]
    await until(lambda: bench.jobs.reap(), within=120)

    assert (wrong.status, (tmp_path / "x").exists()) == (422, False)
    assert [(job["id"], job["command"]) for job in listed] == [(got.json["id"], "merge")]
    job = (await bench.client.get(f"/v1/crawls/whole/jobs/{got.json['id']}")).json
    assert job["state"] == "succeeded", job
    urls = [(await bench.client.get(f"/v1/crawls/{name}")).json["urls"] for name in ("whole", "one")]
    assert job["result"]["urls"] == urls[0] == urls[1] > 0
    (segment,) = (await bench.client.get("/v1/crawls/whole/segments")).json["rows"]
    assert job["result"]["segments"] == [segment["segment"]]
    copy = await bench.client.get(f"/v1/crawls/whole/copy?url={quote(SEED, safe='')}")
    inlinks = await bench.client.get(f"/v1/crawls/whole/inlinks?url={quote(SEED, safe='')}")
    assert (copy.status, len(inlinks.json["rows"]) > 0) == (200, True)


async def test_a_nutch_crawl_is_imported_as_a_new_crawl(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    shutil.copytree(NUTCH_CRAWL, tmp_path / "old")
    order = {"command": "import-nutch-crawl", "options": {"nutch": "old"}}

    unknown = await bench.client.post("/v1/crawls/new/jobs", {**order, "options": {"nutch": "none"}})
    got = await bench.client.post("/v1/crawls/new/jobs", order)
    shown = await bench.client.get("/v1/crawls/new/jobs")
    second = await bench.client.post("/v1/crawls/new/jobs", order)
    await until(lambda: bench.jobs.reap(), within=120)
    again = await bench.client.post("/v1/crawls/new/jobs", order)
    schedule = {**order, "crawl": "new", "every": "7d"}

    assert (unknown.status, unknown.json["accepted"]) == (422, ["old"])
    assert [job["id"] for job in shown.json["jobs"]] == [got.json["id"]]
    assert (second.status, again.status) == (409, 409)
    job = bench.jobs.one("new", got.json["id"])
    assert job.state == "succeeded", job
    assert (await bench.client.get("/v1/crawls/new")).json["urls"] > 0
    assert (await bench.client.post("/v1/schedules", schedule)).json["where"] == "/command"


@pytest.mark.parametrize("command", JOB_COMMANDS)
async def test_every_command_takes_its_options_as_json(command: str, tmp_path: Path) -> None:
    bench = bench_with(tmp_path, "/bin/echo")
    CrawlDir.create(tmp_path / "other", bench.clock())
    (tmp_path / "nutch-data").mkdir()
    commands = {each.name: each for each in bench.jobs._catalogue.commands()}
    values = {"boolean": True, "integer": 1, "number": 0.5, "string": "1d"}
    options = {
        option.name: option.accepted[0]
        if option.accepted
        else ["other"]
        if option.name == "directories"
        else "nutch-data"
        if option.name == "nutch"
        else (["http://a.example/"] if option.required or option.name in ("seeds", "urls") else ["20261117000000"])
        if option.type == "array"
        else values[option.type]
        for option in commands[command].options
    }

    name = "new" if command in IMPORTING else "news"
    got = await bench.client.post(f"/v1/crawls/{name}/jobs", {"command": command, "options": options})
    wrong = await bench.client.post(f"/v1/crawls/{name}/jobs", {"command": command, "options": {"nonsense": 1}})

    assert got.status == 202, got.json
    assert wrong.status == 422
    assert wrong.json.get("accepted", []) == [option.name for option in commands[command].options]
    await until(lambda: bench.jobs.reap())
    words = (tmp_path / ".scoter" / "jobs" / got.json["id"] / "result").read_text().split()
    assert words[0] == command
    assert str(tmp_path / name) in words


@pytest.mark.parametrize(
    ("order", "where"),
    [
        ({"command": "rm"}, "/command"),
        ({"command": "export"}, "/options"),
        ({"command": "export", "options": {"out": "../x", "format": "csv"}}, "/options/out"),
        ({"command": "export", "options": {"out": "/tmp/x", "format": "csv"}}, "/options/out"),
        ({"command": "corpus", "options": {"out": ".."}}, "/options/out"),
        ({"command": "mergedb", "options": {"directories": ["/etc"]}}, "/options/directories"),
        ({"command": "mergedb", "options": {"directories": ["news"]}}, "/options/directories"),
        ({"command": "mergedb", "options": {"directories": ["other"], "out": "/tmp/x"}}, "/options/out"),
        ({"command": "import-nutch-crawl", "options": {"nutch": "/etc"}}, "/options/nutch"),
        ({"command": "import-nutch-crawl", "options": {"nutch": ".."}}, "/options/nutch"),
        ({"command": "import-nutch-crawl", "options": {"nutch": "linked"}}, "/options/nutch"),
        ({"command": "serve"}, "/command"),
        ({"command": "fetch", "options": {"segment": "../../x"}}, "/options/segment"),
        ({"command": "fetch", "options": {"segment": "--threads=3"}}, "/options/segment"),
        ({"command": "inject"}, "/options"),
        ({"command": "inject", "options": {"seeds": ["seeds.txt"]}}, "/options/seeds/0"),
        ({"command": "sitemap", "options": {"hosts": ["/etc/passwd"]}}, "/options/hosts"),
        ({"command": "generate", "options": {"directory": "/tmp"}}, "/options/directory"),
        ({"command": "generate", "options": {"config": "/etc/passwd"}}, "/options/config"),
    ],
)
async def test_orders_that_would_leave_the_crawl_are_refused(
    order: dict[str, object], where: str, tmp_path: Path
) -> None:
    bench = bench_with(tmp_path, "/bin/true")
    (tmp_path / "linked").symlink_to("/etc")

    got = await bench.client.post("/v1/crawls/news/jobs", order)

    assert (got.status, got.json["where"]) == (422, where)
    assert bench.jobs.all("news") == []
    await asyncio.sleep(0)


@pytest.mark.parametrize(("scopes", "status"), [(("submit",), 403), (("admin",), 201)])
async def test_only_administrators_may_allow_private_seeds(
    tmp_path: Path, scopes: tuple[str, ...], status: int
) -> None:
    bench = bench_with(tmp_path, "/bin/true", required=True)
    key = await bench.token(*scopes, "read")
    seeds = ["http://localhost:8000/"]

    def order(**more: Any) -> dict[str, Any]:
        return {"options": {"allow_seeds": True}, **more}

    created = await bench.client.post("/v1/crawls", order(name="own", seeds=seeds), key)
    started = await bench.client.post("/v1/crawls/news/jobs", order(), key)
    planned = await bench.client.post("/v1/schedules", order(crawl="news", every="1d"), key)
    commands = (await bench.client.get("/v1/commands", key)).json["commands"]
    shown = {option["name"] for each in commands if each["name"] == "crawl" for option in each["options"]}

    assert created.status == planned.status == status
    assert started.status == (403 if status == 403 else 202)
    assert ("allow_seeds" in shown) == (status != 403)
    assert "own_site" in shown


async def test_without_keys_private_seeds_are_for_people_on_this_machine(tmp_path: Path) -> None:
    order = {"options": {"allow_seeds": True}}
    for name in ("here", "open"):
        (tmp_path / name).mkdir()

    here = await bench_with(tmp_path / "here", "/bin/true").client.post("/v1/crawls/news/jobs", order)
    anybody = await bench_with(tmp_path / "open", "/bin/true", is_open=True).client.post("/v1/crawls/news/jobs", order)

    assert (here.status, anybody.status) == (202, 403)
