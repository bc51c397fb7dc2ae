"""SQL over HTTP: read-only, limited, and unable to leave the views of its crawl."""

from __future__ import annotations

import asyncio
import csv
import io
import os
import shutil
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.batch.api.crawls import BatchBench, names
from tests.waiting import until

from scoter.batch.api.crawl_folder import SPILL
from scoter.batch.api.queries import Queries, QueryLimits, QueryProcesses
from scoter.batch.api.query_process import QueryTask
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.sql import sql
from scoter.errors import UserError
from scoter.store.disk import Scratch

PATH = "/v1/crawls/news/sql"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> BatchBench:
    root = tmp_path_factory.mktemp("sql")
    (root / "secret.txt").write_text("a secret")
    (root / "secret.csv").write_text("a,b\n1,secret\n")
    found = BatchBench(root)
    found.add_crawl()
    found.add_crawl("other")
    return found


async def test_a_query_returns_rows_as_json_csv_arrow_or_parquet(bench: BatchBench) -> None:
    order = {"query": "select url, status, metadata, signature from crawldb order by key", "limit": 3}

    as_json = (await bench.client.post(PATH, order)).json
    as_csv = await bench.client.post(PATH, order, ("Accept", "text/csv"))
    arrow = await bench.client.post(PATH, order, ("Accept", "application/vnd.apache.arrow.stream"))
    parquet = await bench.client.post(PATH, order, ("Accept", "application/vnd.apache.parquet"))

    assert as_json["columns"] == ["url", "status", "metadata", "signature"]
    assert as_json["truncated"] is True
    urls = [row["url"] for row in as_json["rows"]]
    assert len(urls) == 3
    assert [row["url"] for row in csv.DictReader(io.StringIO(as_csv.body.decode()))] == urls
    assert pa.ipc.open_stream(arrow.body).read_all()["url"].to_pylist() == urls
    assert pq.read_table(io.BytesIO(parquet.body))["url"].to_pylist() == urls
    assert parquet.headers["scoter-truncated"] == "1"


ATTACKS = (
    "select * from read_text('{root}/secret.txt')",
    "select * from read_csv('{root}/secret.csv')",
    "select * from '{root}/secret.csv'",
    "from read_blob('/etc/passwd')",
    "select * from glob('/etc/*')",
    "select * from read_parquet('{root}/other/crawldb/*/*.parquet')",
    "select * from read_parquet('{root}/news/../other/crawldb/v000001/part-00001.parquet')",
    "select * from read_json('http://127.0.0.1:1/x')",
    "select * from 's3://bucket/x.parquet'",
    "copy crawldb to '{root}/out.csv'",
    "copy (select 1) to program 'touch {root}/out'",
    "export database '{root}/out'",
    "attach '{root}/out.db' as x",
    "attach '{root}/.scoter/service.sqlite' as s (type sqlite)",
    "install httpfs",
    "load httpfs",
    "select 1; load sqlite",
    "load json",
    "attach 'x.db' as x",
    "copy crawldb to 'x.csv'",
    "set enable_external_access = true",
    "set memory_limit = '100GB'; select 1",
    "call pragma_version()",
    "create table t as select 1; copy t to '{root}/out.csv'",
    "create secret (type s3)",
    "drop view crawldb",
    "insert into segments values (1)",
    "update segments set urls = 0",
    "delete from segments",
    "checkpoint",
    "explain analyze copy (select 1) to '{root}/out.csv'",
    "with x as (select 1) insert into segments select * from x",
    "select * from query('copy (select 1) to ''{root}/out.csv''')",
    "select * from sniff_csv('{root}/secret.csv')",
    "select * from parquet_metadata('{root}/other/crawldb/v000001/part-00001.parquet')",
    "import database '{root}'",
    "select getenv('HOME')",
    "",
    ";",
    "select 1; select 2",
    "nonsense",
)


def test_no_statement_reads_or_writes_files_or_opens_connections(bench: BatchBench) -> None:
    # In this process: what the process of a query adds are its limits. Others below go over HTTP.
    root = bench.folder.root
    before, here = names(root), names(Path.cwd())

    with sql(CrawlDir.open(root / "news"), memory_limit=2**29, spill_limit=2**20) as session:
        for attack in ATTACKS:
            with pytest.raises(UserError) as refused:
                list(session.batches(attack.format(root=root), {})[1])
            assert "a secret" not in str(refused.value), attack
            assert "root:" not in str(refused.value), attack
    assert (names(root), names(Path.cwd())) == (before, here)


async def test_files_are_out_of_reach(bench: BatchBench) -> None:
    got = await bench.client.post(PATH, {"query": "select * from read_text('/etc/passwd')"})

    assert (got.status, got.json["where"]) == (422, "/query")


async def test_a_query_that_takes_too_long_is_ended(bench: BatchBench) -> None:
    query = "select sum(hash(range)) from range(1000000000000)"  # needs time, but no memory

    got = await bench.client.post(PATH, {"query": query, "seconds": 0.2})

    assert (got.status, got.json["type"]) == (422, "urn:scoter:problem:too-slow")


PRYING = (
    "select * from enable_logging('QueryLog')",
    "call enable_logging()",
    "create table x as select 1; select * from x",
    "create type y as enum ('a'); select 1",
    "/* */ create view v as select 1; select 1",
    "select * from duckdb_settings()",
    'select * from "duckdb_settings"()',
    "select sql from duckdb_views()",
    "select current_setting('temp_directory')",
    "from query('select * from duckdb_' || 'settings()')",
    "from query /* x */ ('select 1')",
    "select * from sqlite_master",
)


def test_a_query_can_neither_change_the_session_nor_see_the_machine(bench: BatchBench) -> None:
    root = bench.folder.root
    with sql(CrawlDir.open(root / "news"), memory_limit=2**29, spill_limit=2**20) as session:
        for attack in PRYING:
            with pytest.raises(UserError) as refused:
                list(session.batches(attack, {})[1])
            assert str(root) not in f"{refused.value} {refused.value.hint}", attack


async def test_no_catalogue_tells_paths_of_the_server(bench: BatchBench) -> None:
    root = bench.folder.root
    with sql(CrawlDir.open(root / "news"), memory_limit=2**29, spill_limit=2**20) as session:
        listed = "select distinct function_name as name from duckdb_functions() where function_type = 'table'"
        sources = [f'"{row["name"]}"()' for row in session.query(listed).rows]
        views = "select database_name, schema_name, view_name from duckdb_views()"
        found = session._connection.execute(views).fetchall()
        sources += [".".join(f'"{part}"' for part in row) for row in found]
        seen = []
        for source in sources:
            with suppress(UserError):
                seen += [(source, str(row)) for row in session.query(f"from {source}").rows]

    assert len(sources) > 30
    assert len(seen) > 30
    assert not [source for source, text in seen if str(root) in text]


async def test_pivots_and_words_in_texts_are_allowed(bench: BatchBench) -> None:
    pivot = "from (pivot (select status, 1 as n from crawldb) on status using sum(n))"
    texts = "select 'enable_logging() from duckdb_settings()' as a, 1 as query -- duckdb_views"

    assert (await bench.client.post(PATH, {"query": pivot})).status == 200
    assert (await bench.client.post(PATH, {"query": texts})).json["rows"][0]["query"] == 1


async def test_infinite_and_late_times_are_texts(bench: BatchBench) -> None:
    query = "select timestamp 'infinity' a, timestamptz '-infinity' b, timestamp '20000-01-01' c, now() d"

    as_json = await bench.client.post(PATH, {"query": query})
    as_csv = await bench.client.post(PATH, {"query": query}, ("Accept", "text/csv"))
    nested = await bench.client.post(PATH, {"query": "select [timestamp 'infinity']"})

    row = as_json.json["rows"][0]
    assert (row["a"], row["b"]) == ("infinity", "-infinity")
    assert row["c"].startswith("20000-01-01")
    assert as_csv.status == 200
    assert nested.status == 422


async def test_csv_has_no_formulas_unless_exact(bench: BatchBench) -> None:
    query = "select '=cmd()' as a, -5 as b, chr(27) || 'x' as c, '@x' as \"=d\""

    safe = await bench.client.post(PATH, {"query": query}, ("Accept", "text/csv"))
    exact = await bench.client.post(PATH, {"query": query, "exact": True}, ("Accept", "text/csv"))

    assert safe.body.decode() == "a,b,c,'=d\n'=cmd(),-5,x,'@x\n"
    assert exact.body.decode() == "a,b,c,=d\n=cmd(),-5,\x1bx,@x\n"


async def test_the_temporary_files_of_a_query_are_removed_however_it_ends(bench: BatchBench) -> None:
    slow = "select sum(hash(range)) from range(1000000000000)"
    spill, scratch = bench.folder.state / SPILL, bench.folder.root / "news" / "tmp"

    running = asyncio.create_task(bench.client.post(PATH, {"query": slow, "seconds": 0.5}))
    seen = await until(lambda: names(spill))
    await running
    await bench.client.post(PATH, {"query": "select nonsense"})

    assert len(seen) >= 1
    assert names(spill) == []
    assert not scratch.exists() or names(scratch) == []


async def test_the_temporary_files_that_a_killed_server_left_are_removed(tmp_path: Path) -> None:
    (tmp_path / "spill" / "query-old").mkdir(parents=True)
    (tmp_path / "spill" / "query-old" / "duckdb_temp_storage").write_bytes(bytes(100))
    held = Scratch(tmp_path / "spill", "query")

    Queries(tmp_path / "spill")

    assert [each.name for each in (tmp_path / "spill").iterdir()] == [held.path.name]


async def test_running_queries_together_leave_half_of_the_free_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=400 * 2**20))
    asked: list[QueryTask] = []

    async def keep(self: QueryProcesses, task: QueryTask) -> tuple[None, bool]:
        asked.append(task)
        return None, False

    monkeypatch.setattr(QueryProcesses, "answer", keep)
    await Queries(tmp_path, QueryLimits(running=2)).run(tmp_path, "select 1", most=1)

    assert [task.spill for task in asked] == [100 * 2**20]


async def test_ctrl_c_in_the_terminal_of_the_server_does_not_reach_a_query(bench: BatchBench) -> None:
    query = "select sum(hash(range)) from range(1000000000000)"
    asked = asyncio.create_task(bench.client.post(PATH, {"query": query, "seconds": 0.5}))

    found = await until(_query_processes)
    sessions = [os.getsid(pid) for pid in found]
    await asked

    assert sessions == found


def _query_processes() -> list[int]:
    """Return the child processes that run queries."""
    running = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            parent = int(file.read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"query_process" in file.with_name("cmdline").read_bytes():
                running.append(int(file.parent.name))
    return running


@pytest.mark.slow
async def test_a_query_that_needs_too_much_memory_is_ended(bench: BatchBench) -> None:
    query = "select list(x) from range(200000000) t(x)"

    got = await bench.client.post(PATH, {"query": query, "seconds": 50})

    assert got.status == 422
    assert "memory" in got.json["detail"]


async def test_a_result_that_is_too_large_is_refused(bench: BatchBench) -> None:
    query = "select repeat('x', 10000) from range(4000)"

    got = await bench.client.post(PATH, {"query": query, "limit": 10_000, "seconds": 60})

    assert got.status == 422
    assert "too large" in got.json["detail"]


async def test_limits_beyond_those_of_the_server_are_refused(bench: BatchBench) -> None:
    for change in ({"limit": 1_000_000}, {"seconds": 3_600}, {"limit": 0}, {"seconds": 0}):
        assert (await bench.client.post(PATH, {"query": "select 1", **change})).status == 422
