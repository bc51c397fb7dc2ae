"""Secrets of jobs: neither readers nor other users of the machine see them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.batch.api.crawls import BatchBench, until

SHOW = "import json, os, sys; print(json.dumps([sys.argv, dict(os.environ)]), flush=True); open('/proc/self/cmdline')"
ORDER = {
    "command": "inject",
    "options": {"seeds": ["http://me:hunter2@a.test/", "http://b.test/"]},
    "settings": {"http.headers": ["X-Team: opensesame", "Authorization: Bearer opensesame"], "fetch.delay": "2s"},
}


async def test_readers_see_neither_header_values_nor_passwords_in_urls(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, program=[sys.executable, "-c", SHOW])
    bench.add_crawl()

    started = await bench.client.post("/v1/crawls/news/jobs", ORDER)
    job = f"/v1/crawls/news/jobs/{started.json['id']}"
    await until(lambda: bench.jobs.reap())
    answers = [started, await bench.client.get("/v1/crawls/news/jobs"), await bench.client.get("/v1/crawls/news")]
    answers.append(await bench.client.get(job + "/log"))
    made = await bench.client.post("/v1/schedules", {**ORDER, "crawl": "news", "every": "1d"})
    one = f"/v1/schedules/{made.json['id']}"
    answers += [made, await bench.client.get("/v1/schedules"), await bench.client.get(one)]
    answers.append(await bench.client.ask("DELETE", one))

    assert [got.status for got in answers] == [202, 200, 200, 200, 201, 200, 200, 200]
    for got in answers:
        assert b"opensesame" not in got.body
        assert b"hunter2" not in got.body
    assert started.json["settings"]["http.headers"] == ["X-Team: ***", "Authorization: ***"]
    assert started.json["options"]["seeds"] == ["http://***@a.test/", "http://b.test/"]
    records = [file.read_text() for file in (bench.folder.state / "jobs").glob("*/job.json")]
    assert records
    assert not [text for text in records if "opensesame" in text or "hunter2" in text]


async def test_settings_reach_a_job_by_its_environment(tmp_path: Path) -> None:
    overrides = ("agent.name=testbot", "http.proxy_password=hunter2", "fetch.delay=9s")
    bench = BatchBench(tmp_path, program=[sys.executable, "-c", SHOW], overrides=overrides)
    bench.add_crawl()

    await bench.client.post("/v1/crawls/news/jobs", ORDER)
    await until(lambda: bench.jobs.reap())
    (result,) = (bench.folder.state / "jobs").glob("*/result")
    arguments, environment = json.loads(result.read_text())

    assert not [word for word in arguments if "opensesame" in word or "hunter2" in word]
    assert environment["SCOTER_HTTP__HEADERS"] == json.dumps(ORDER["settings"]["http.headers"])  # type: ignore[index]
    assert environment["SCOTER_HTTP__PROXY_PASSWORD"] == "hunter2"
    assert environment["SCOTER_FETCH__DELAY"] == "2s"  # the job's own, not the server's


async def test_log_lines_of_a_job_have_no_passwords_in_urls(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "import sys; print('cannot read s3://me:hunter2@bucket/', file=sys.stderr)"]
    bench = BatchBench(tmp_path, program=program)
    bench.add_crawl()

    started = await bench.client.post("/v1/crawls/news/jobs", {"command": "dedup"})
    await until(lambda: bench.jobs.reap())
    shown = await bench.client.get(f"/v1/crawls/news/jobs/{started.json['id']}/log")

    assert shown.json["lines"] == ["cannot read s3://***@bucket/"]
