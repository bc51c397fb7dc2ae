"""What a crawl has found, over HTTP: rows, hosts, segments, links, copies, texts, search and reports."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.batch.api.crawls import SEED, BatchBench
from tests.batch.test_incremental import crawl_of_parts

from scoter.batch.api import rows
from scoter.batch.api.queries import REPORT_AGE, Queries
from scoter.batch.api.records import UrlsQuery
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.checksite import checksite
from scoter.config import load
from scoter.engine.sources import stored_name
from scoter.store.tables import Table
from scoter.store.tables.replaced import POSITIONS

ARROW = "application/vnd.apache.arrow.stream"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> BatchBench:
    found = BatchBench(tmp_path_factory.mktemp("crawls"))
    found.add_crawl()
    CrawlDir.create(found.folder.root / "empty", found.clock())
    return found


def stored(bench: BatchBench) -> list[dict[str, object]]:
    with Table.open(bench.folder.root / "news" / "crawldb") as table:
        found: list[dict[str, object]] = table.dataset().to_table(["key", "url", "status", "host"]).to_pylist()
        return found


async def keys(bench: BatchBench, query: str) -> list[str]:
    """Return the keys on all pages of a query."""
    found: list[str] = []
    after = ""
    for _ in range(1_000):
        page = (await bench.client.get(f"/v1/crawls/news/urls?{query}&after={quote(after)}")).json
        found += [row["key"] for row in page["rows"]]
        if page["next"] is None:
            return found
        after = page["next"]
    raise AssertionError("the pages do not end")


async def test_pages_by_key_return_every_row_once_in_order(bench: BatchBench) -> None:
    expected = sorted(str(row["key"]) for row in stored(bench))

    for limit in (1, 7, 1_000):
        assert await keys(bench, f"limit={limit}") == expected


async def test_rows_are_filtered_by_status_and_host(bench: BatchBench) -> None:
    all_rows = stored(bench)
    for status in ("fetched", "unfetched", "gone"):
        expected = sorted(str(row["key"]) for row in all_rows if row["status"] == status)
        assert await keys(bench, f"limit=3&status={status}") == expected
    for host in {str(row["host"]) for row in all_rows}:
        expected = sorted(str(row["key"]) for row in all_rows if row["host"] == host)
        assert await keys(bench, f"limit=5&host={host}") == expected


def test_the_work_per_page_is_limited_and_the_next_page_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_MAX_GROUPS", 1)
    crawl, _ = crawl_of_parts(tmp_path / "crawl")  # with row groups of ten rows
    add_delta(crawl)
    with Table.open(crawl.crawldb) as table:
        expected = sorted(key for batch in table.scan(["key"]) for key in batch["key"].to_pylist())

    for limit in (1, 7, 15, 1_000):
        found: list[str] = []
        after: str | None = ""
        while after is not None:
            page = rows.crawldb_page(crawl, load(), UrlsQuery(limit=limit, after=after))
            assert page.table.num_rows <= min(limit, 40)  # a row group of the base, and those of the delta part
            found += page.table["key"].to_pylist()
            after = page.next
        assert found == expected


def add_delta(crawl: CrawlDir) -> None:
    """Replace every tenth row of the base."""
    with Table.open(crawl.crawldb) as table, Table.write(crawl.crawldb, table.schema, writer="test") as new:
        new.extend(table.version)
        parts = [file for file in table.files if "/part-" in file]
        delta = pa.concat_tables([pq.read_table(file).take(list(range(0, 50, 10))) for file in parts])
        pq.write_table(delta, new.workspace / "delta.parquet", row_group_size=5)
        new.adopt(new.workspace / "delta.parquet")
        places = [{"part": stored_name(file), "row": row} for file in parts for row in range(0, 50, 10)]
        pq.write_table(pa.Table.from_pylist(places, schema=POSITIONS), new.workspace / "positions.parquet")
        new.replace_rows(new.workspace / "positions.parquet")
        new.commit()


@pytest.mark.parametrize("path", ["urls", "hosts"])
async def test_rows_come_as_arrow_if_asked_for(path: str, bench: BatchBench) -> None:
    got = await bench.client.get(f"/v1/crawls/news/{path}?limit=2", ("Accept", ARROW))

    assert got.headers["content-type"] == ARROW
    table = pa.ipc.open_stream(got.body).read_all()
    assert table.num_rows == 2
    as_json = (await bench.client.get(f"/v1/crawls/news/{path}?limit=2")).json
    assert table.column_names == list(as_json["rows"][0])
    assert got.headers["scoter-next"] == as_json["next"]


async def test_hosts_have_their_urls_by_status(bench: BatchBench) -> None:
    first = (await bench.client.get("/v1/crawls/news/hosts?limit=1")).json
    rest = (await bench.client.get(f"/v1/crawls/news/hosts?after={first['next']}")).json

    found = {row["host"]: row for row in (*first["rows"], *rest["rows"])}
    all_rows = stored(bench)
    assert found.keys() == {row["host"] for row in all_rows}
    for host, row in found.items():
        assert row["urls"] == sum(each["host"] == host for each in all_rows)
        assert row["fetched"] == sum(each["host"] == host and each["status"] == "fetched" for each in all_rows)
    assert rest["next"] is None


async def test_segments_have_state_and_counts(bench: BatchBench) -> None:
    found = (await bench.client.get("/v1/crawls/news/segments")).json["rows"]

    assert [row["state"] for row in found] == ["applied", "applied"]
    assert all(row["generated"] == row["fetched"] > 0 for row in found)
    page = (await bench.client.get("/v1/crawls/news/segments?limit=1")).json
    assert page["next"] == found[0]["segment"]


async def test_one_url_is_explained(bench: BatchBench) -> None:
    found = (await bench.client.get(f"/v1/crawls/news/url?url={SEED}")).json
    unknown = (await bench.client.get("/v1/crawls/news/url?url=http://x.example/")).json

    assert found["verdict"].startswith("fetched")
    assert found["facts"]["record"]["status"] == "fetched"
    assert found["facts"]["fetches"][0]["http_status"] == 200
    assert unknown["verdict"].startswith("never fetched") or unknown["verdict"].startswith("unknown")


async def test_inlinks_and_outlinks_are_shown_in_pages(bench: BatchBench) -> None:
    out = (await bench.client.get(f"/v1/crawls/news/outlinks?url={SEED}")).json
    part = (await bench.client.get(f"/v1/crawls/news/outlinks?url={SEED}&offset=1&limit=1")).json

    assert out["count"] == len(out["rows"]) > 2
    assert part["rows"] == out["rows"][1:2]
    for row in out["rows"][:3]:
        if row["host"] != "www.grebe0.test":
            back = (await bench.client.get(f"/v1/crawls/news/inlinks?url={quote(row['url'])}")).json
            assert SEED in {each["url"] for each in back["rows"]}


async def test_hosts_are_sorted_and_filtered_page_by_page(bench: BatchBench) -> None:
    base = "/v1/crawls/news/hosts?sort=urls&descending=true&limit=1"
    found, after = [], ""
    for _ in range(100):
        page = (await bench.client.get(f"{base}&after={after}")).json
        found += page["rows"]
        after = page["next"]
        if after is None:
            break
    some = (await bench.client.get("/v1/crawls/news/hosts?contains=GREBE0")).json["rows"]

    assert found == sorted(found, key=lambda row: (-row["urls"], row["host"]))
    assert len(found) == len((await bench.client.get("/v1/crawls/news/hosts")).json["rows"])
    assert some == sorted((row for row in found if "grebe0" in row["host"]), key=lambda row: row["host"])
    assert (await bench.client.get(f"{base}&after=x")).status == 422
    assert (await bench.client.get("/v1/crawls/news/hosts?sort=nothing")).status == 422


async def test_a_copy_is_shown_with_its_type_in_a_sandbox(bench: BatchBench) -> None:
    shown = await bench.client.get(f"/v1/crawls/news/replay?url={SEED}")

    policy = shown.headers["content-security-policy"]
    assert f"Archived copy of {SEED}" in shown.body.decode()
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script" not in policy
    assert (await bench.client.get("/v1/crawls/news/replay?url=http://x.example/")).status == 404


async def test_viewers_share_the_answer_to_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, ran = [0.0], []
    shared = Queries(tmp_path, clock=lambda: now[0])

    async def run(crawl: Path, query: str, **more: object) -> tuple[object, bool]:
        ran.append(query)
        await asyncio.sleep(0)
        return pa.table({"a": [len(ran)]}), False

    monkeypatch.setattr(shared, "run", run)

    def ask(query: str = "q", second: int = 1) -> Coroutine[Any, Any, tuple[Any, bool]]:
        until = datetime(2026, 5, 1, 12, 0, second, tzinfo=UTC)
        return shared.report(tmp_path, query, most=8, texts={}, times={"until": until})

    first = await asyncio.gather(*(ask(second=each) for each in range(5)))
    assert [table["a"].to_pylist() for table, _ in first] == [[1]] * 5
    await ask("another")
    now[0] = REPORT_AGE
    await ask()
    assert ran == ["q", "another", "q"]
    assert shared._reporting == {}


async def test_views_are_described_with_their_columns(bench: BatchBench) -> None:
    found = {view["name"]: view for view in (await bench.client.get("/v1/crawls/news/views")).json["views"]}

    assert {"name": "status", "type": "VARCHAR"} in found["crawldb"]["columns"]
    assert all(view["rows"] for name, view in found.items() if name != "traps")


async def test_an_archived_copy_is_sent_as_bytes_that_no_browser_runs(bench: BatchBench) -> None:
    got = await bench.client.get(f"/v1/crawls/news/copy?url={SEED}")

    assert got.status == 200
    assert b"<html" in got.body.lower()
    assert got.headers["content-type"] == "application/octet-stream"
    assert got.headers["content-security-policy"].startswith("sandbox")
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["content-disposition"] == "attachment"
    assert got.headers["scoter-status"] == "200"
    assert (await bench.client.get("/v1/crawls/news/copy?url=http://x.example/")).status == 404


async def test_the_headers_of_an_archived_copy_are_shown(bench: BatchBench) -> None:
    found = (await bench.client.get(f"/v1/crawls/news/headers?url={SEED}")).json

    assert (found["url"], found["status"]) == (SEED, 200)
    types = [each["value"] for each in found["fields"] if each["name"].lower() == "content-type"]
    assert types == ["text/html; charset=utf-8"]
    assert (await bench.client.get("/v1/crawls/news/headers?url=http://x.example/")).status == 404


async def test_the_text_of_a_page_is_shown(bench: BatchBench) -> None:
    found = (await bench.client.get(f"/v1/crawls/news/text?url={SEED}")).json

    assert found["title"]
    assert len(found["text"]) > 50
    assert (await bench.client.get("/v1/crawls/news/text?url=http://x.example/")).status == 404


async def test_pages_are_searched(bench: BatchBench) -> None:
    found = (await bench.client.get("/v1/crawls/news/search?q=host:www.grebe0.test&limit=2")).json
    without = await bench.client.get("/v1/crawls/empty/search?q=x")

    assert found["total"] > 0
    assert found["hits"][0]["url"].startswith("http://www.grebe0.test/")
    assert without.status == 422
    assert "no index" in without.json["title"]


async def test_reports_are_listed_and_answered(bench: BatchBench) -> None:
    listed = (await bench.client.get("/v1/crawls/news/reports")).json["reports"]
    found = (await bench.client.get("/v1/crawls/news/reports/pages-from?site=www.grebe0.test&limit=3")).json
    unknown = await bench.client.get("/v1/crawls/news/reports/nonsense")

    assert "pages-from" in {each["name"] for each in listed}
    assert len(found["rows"]) == 3
    assert unknown.status == 404
    assert "pages-from" in unknown.json["accepted"]


async def test_problems_of_a_site_are_shown_after_a_check(bench: BatchBench) -> None:
    before = await bench.client.get("/v1/crawls/news/reports/site")
    crawl = CrawlDir.open(bench.folder.root / "news")
    await asyncio.to_thread(checksite, crawl, load(), crawl.scratch, now=bench.clock())
    after = (await bench.client.get("/v1/crawls/news/reports/site")).json
    first = after["rows"][0]
    rows = (await bench.client.get(f"/v1/crawls/news/reports/site?problem={first['problem']}&limit=1")).json

    assert (before.status, before.json["title"]) == (422, "The site was not checked yet.")
    assert first["severity"] == "error"
    assert "broken-links" in {row["problem"] for row in after["rows"]}
    assert first["found"] >= first["urls"] > 0
    assert (rows["columns"], len(rows["rows"])) == (["url", "page", "text", "detail"], 1)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("reports/site?problem=nonsense", "?problem"),
        ("reports/errors?problem=orphans", "?problem"),
        ("urls?status=nonsense", "?status"),
        ("urls?limit=0", "?limit"),
        ("urls?limit=1001", "?limit"),
        ("urls?colour=red", ""),
        ("url?url=x", "?url"),
        ("url", ""),
        ("reports/pages-from", "?site"),
        ("reports/errors?site=a.example", "?site"),
        ("copy?url=http://a.example/&segment=..", ""),
        ("search?q=", "?q"),
    ],
)
async def test_wrong_parameters_are_refused(query: str, where: str, bench: BatchBench) -> None:
    got = await bench.client.get(f"/v1/crawls/news/{query}")

    assert (got.status, got.json.get("where", "")) == (422, where)


@pytest.mark.parametrize("path", ["urls", "hosts", "segments", "progress", f"inlinks?url={SEED}", f"url?url={SEED}"])
async def test_a_crawl_without_data_is_not_a_defect(path: str, bench: BatchBench) -> None:
    assert (await bench.client.get(f"/v1/crawls/empty/{path}")).status in (200, 422)
