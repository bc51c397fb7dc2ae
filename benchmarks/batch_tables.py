"""CPU time, duration and memory of the jobs on whole tables, for a crawl of any size.

    python -m benchmarks.batch_tables --rows 1000000 --memory 1GiB

Creates a crawl of that many URLs, of which a tenth was fetched, with two links for each, and runs each command on it in
its own process; the crawldb is restored after each. ``--keep DIR`` leaves the crawl there and reuses it the next time.
The fingerprint does not depend on the memory limit.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import msgspec

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import FETCHED, INFO_FILE, PARSED, Segment, SegmentInfo
from scoter.config.units import read_size
from scoter.engine.duckdb import ROW_GROUP_BYTES
from scoter.engine.sql import live_sql
from scoter.store.tables import Table

T = TypeVar("T")
NOW = datetime(2026, 11, 15, tzinfo=UTC)
SEGMENT = "20261115000000"
GOALS = {
    ("updatedb",): {"4GiB": 120.0, "1GiB": 200.0},
    ("generate", "--top-n", "100000"): {"4GiB": 25.0, "1GiB": 25.0},
    ("readdb", "--stats"): {"4GiB": 5.0, "1GiB": 5.0},
}
"""CPU seconds on 10 million URLs, by command and by the memory given."""
FULL = 10_000_000
SLACK = 1.3  # resident memory over the limit
HOSTS = 100  # URLs per host
ROWS_OF_A_FETCH = 10_240  # links per row group: a fetching process writes two mebibytes at a time


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--memory", action="append", help="can be repeated; default: 4GiB and 1GiB")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="create the crawl in this folder and keep it")
    parser.add_argument("-D", action="append", default=[], metavar="SETTING", help="passed on to the command")
    said = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = said.keep or Path(folder) / "crawl"
        if not path.exists():
            apart(make, path, said.rows, said.seed)
        crawl = CrawlDir.open(path)
        missed = [
            (command, memory)
            for command in GOALS
            for memory in said.memory or ("4GiB", "1GiB")
            if not measured(crawl, command, memory, said.rows, said.D)
        ]
    for command, memory in missed:
        print(f"MISSED  {' '.join(command)} with {memory}")
    return 1 if missed else 0


def run(crawl: CrawlDir, command: tuple[str, ...], memory: str, settings: Sequence[str]) -> tuple[int, float, int]:
    """Run a command; return its exit status, CPU seconds and peak memory."""
    more = [word for setting in settings for word in ("-D", setting)]
    words = [command[0], str(crawl.path), *command[1:], "--quiet", "-D", f"engine.memory_limit={memory}", *more]
    said = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    python = [sys.executable, "-m", "scoter.cli.main"]
    child = os.posix_spawn(sys.executable, [*python, *words], os.environ, file_actions=said)
    _, status, used = os.wait4(child, 0)
    return status, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def measured(crawl: CrawlDir, command: tuple[str, ...], memory: str, rows: int, settings: Sequence[str]) -> bool:
    """Run a command, print its cost, undo its result, and return whether it met its targets."""
    begun = time.monotonic()
    status, cpu, resident = run(crawl, command, memory, settings)
    print(
        f"{' '.join(command)}, {rows:,} URLs, {memory}: {cpu:.1f} CPU s, {time.monotonic() - begun:.1f} s, "
        f"{resident / 2**20:,.0f} MiB resident, fingerprint {apart(fingerprint, crawl)}",
        flush=True,
    )
    take_back(crawl)
    goal = GOALS[command].get(memory)
    in_time = goal is None or rows < FULL or cpu <= goal
    return status == 0 and in_time and resident <= SLACK * read_size(memory)


def apart(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in another process: a child's peak memory includes that of its parent."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as other:
        return other.submit(function, *arguments).result()


def make(path: Path, rows: int, seed: int) -> CrawlDir:
    """Create a crawl whose last segment is parsed and not in the crawldb yet."""
    crawl = CrawlDir.create(path, NOW)
    connection = connect(path, rows, seed)
    with Table.write(crawl.crawldb, schemas.CRAWLDB, writer="benchmark") as new:
        file = new.workspace / "all.parquet"
        copy_crawldb(connection, file, rows)
        new.adopt(file)
        new.commit()
    make_segment(connection, crawl, rows, SEGMENT, fetched=rows // 10, links=rows * 2)
    return crawl


def connect(path: Path, rows: int, seed: int) -> duckdb.DuckDBPyConnection:
    """Return a connection that makes the rows of a crawl of that many URLs."""
    # One thread: with several, DuckDB ignores the limit on the bytes of a row group of sorted rows.
    connection = duckdb.connect(config={"threads": 1, "memory_limit": "2GiB", "preserve_insertion_order": False})
    connection.execute(f"SET TimeZone = 'UTC'; SET temp_directory = '{path}'")
    connection.execute(f"CREATE MACRO dice(i, salt) AS (hash(i * 16 + salt + {seed} * 7919) % 1000003) / 1000003.0")
    for name, text in _PARTS_OF_A_URL.items():
        connection.execute(f"CREATE MACRO {name}_of(i) AS {text.format(hosts=max(1, rows // HOSTS))}")
    return connection


def make_segment(
    connection: duckdb.DuckDBPyConnection, crawl: CrawlDir, rows: int, name: str, *, fetched: int, links: int
) -> Segment:
    """Make a parsed segment of URLs that are spread evenly over the crawldb."""
    segment = Segment(crawl.segments / name)
    segment.path.mkdir(parents=True)
    about = SegmentInfo(created=NOW, lists=1, urls=fetched)
    (segment.path / INFO_FILE).write_bytes(msgspec.json.encode(about))
    for folder, query, count in (
        ("crawl_fetch", _FETCH, fetched),
        ("parse_data", _PAGES, fetched),
        ("crawl_parse", _LINKS, links),
    ):
        (segment.path / folder).mkdir()
        file = segment.path / folder / "part-00001.parquet"
        given = {"$rows": rows, "$step": max(1, rows // fetched), "$share": max(1, links // fetched)}
        for word, number in given.items():
            query = query.replace(word, str(number))
        _copy(connection, query, file, count, row_group=ROWS_OF_A_FETCH)
    segment.finish(FETCHED)
    segment.finish(PARSED)
    return segment


def take_back(crawl: CrawlDir, *, keep_segments: bool = False) -> None:
    """Restore the previous version of the crawldb."""
    with Table.open(crawl.crawldb) as table:
        before = table.manifest.previous
    if before is not None:
        (crawl.crawldb / "CURRENT").write_text(f"v{before:06d}\n")
    shutil.rmtree(crawl.linkdb, ignore_errors=True)
    for segment in crawl.all_segments():
        if segment.name != SEGMENT and not keep_segments:
            shutil.rmtree(segment.path)


def fingerprint(crawl: CrawlDir) -> str:
    """Return a fingerprint of the crawldb, with the sum of scores rounded to six digits.

    New URLs are due when they are found, which differs from run to run.
    """
    with Table.open(crawl.crawldb) as table:
        told = duckdb.execute(
            "SELECT count(*), sum(hash(url, key, status, nullif(fetch_time, ?), modified_time, retries, interval,"
            f" signature)::HUGEINT) % 1000000007, sum(score) FROM {live_sql(table.files, table.replaced)}",
            [table.manifest.created],
        ).fetchone()
    return "-" if told is None else f"{told[0]}-{told[1]}-{told[2]:.6g}"


def copy_crawldb(connection: duckdb.DuckDBPyConnection, file: Path, rows: int) -> None:
    """Write the rows of a crawldb to a file."""
    _copy(connection, _CRAWLDB, file, rows, order="ORDER BY key, url")


def _copy(
    connection: duckdb.DuckDBPyConnection, query: str, file: Path, rows: int, order: str = "", row_group: int = 122_880
) -> None:
    connection.execute(
        f"COPY (SELECT * FROM ({query.format(rows=rows)}) {order}) TO '{file}'"
        f" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {row_group}, ROW_GROUP_SIZE_BYTES {ROW_GROUP_BYTES})"
    )


_PARTS_OF_A_URL = {
    "host": "'www.site' || (i % {hosts}) || '.example.com'",
    "url": "'http://www.site' || (i % {hosts}) || '.example.com/section/' || (i % 97) || '/page-' || i || '.html'",
    "key": "'com,example,site' || (i % {hosts}) || ',www)/section/' || (i % 97) || '/page-' || i || '.html'",
}
_NAMED = "url_of(i) AS url, key_of(i) AS key, host_of(i) AS host"
_DATUM = f"""{_NAMED}, CASE WHEN i % 3 = 0 THEN 'fetched' ELSE 'unfetched' END AS status,
    TIMESTAMPTZ '2026-10-01 00:00:00+00' + to_seconds(i % 5000000) AS fetch_time,
    CASE WHEN i % 3 = 0 THEN TIMESTAMPTZ '2026-09-01 00:00:00+00' + to_seconds(i % 500000) END AS modified_time,
    0::INT AS retries, 2592000::INT AS interval, dice(i, 1)::DOUBLE AS score,
    CASE WHEN i % 3 = 0 THEN unhex(md5((i % 7000000)::VARCHAR)) END AS signature,
    NULL::MAP(VARCHAR, VARCHAR) AS metadata"""
_CRAWLDB = f"SELECT {_DATUM} FROM range({{rows}}) t(i)"
_FETCH = f"""SELECT * REPLACE (
        CASE WHEN i % 20 = 0 THEN 'retry' WHEN i % 21 = 0 THEN 'gone' WHEN i % 23 = 0 THEN 'redir_perm'
            ELSE 'success' END AS status,
        TIMESTAMPTZ '2026-11-15 00:00:00+00' + to_seconds(i % 5000) AS fetch_time, NULL::TIMESTAMPTZ AS modified_time),
    200::INT AS http_status, '' AS reason, NULL::VARCHAR AS detail,
    CASE WHEN i % 23 = 0 THEN url_of(i + 1) END AS redirect_to,
    CASE WHEN i % 23 = 0 THEN key_of(i + 1) END AS redirect_key,
    CASE WHEN i % 23 = 0 THEN host_of(i + 1) END AS redirect_host, 'text/html' AS content_type, 25000::BIGINT AS length,
    NULL::VARCHAR AS truncated, 'part-00001.warc.gz' AS warc_file, i * 9000 AS warc_offset, 8000::BIGINT AS warc_length,
    80::INT AS response_ms, '192.0.2.1' AS ip
    FROM (SELECT i, {_DATUM} FROM (SELECT j * $step AS i FROM range({{rows}}) r(j)))"""
_PAGES = f"""SELECT {_NAMED}, CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'success' END AS parse_status,
    NULL::VARCHAR AS reason, 'Page ' || i AS title, 'en' AS language, 'text/html' AS content_type, 'utf-8' AS encoding,
    NULL::VARCHAR AS canonical,
    false AS noindex, false AS nofollow, 20::INT AS outlinks, unhex(md5((i % 6000000)::VARCHAR)) AS signature,
    i AS simhash, NULL::MAP(VARCHAR, VARCHAR) AS metadata FROM (SELECT j * $step AS i FROM range({{rows}}) r(j))"""
_LINKS = f"""SELECT url_of((j // $share) * $step) AS source, {_NAMED}, 'anchor text ' || (i % 1000) AS anchor,
    '' AS rel, 0.05 * dice(j, 2)::DOUBLE AS score
    FROM (SELECT j, floor(dice(j, 3) * dice(j, 4) * $rows * 1.3)::BIGINT AS i FROM range({{rows}}) r(j))"""


if __name__ == "__main__":
    sys.exit(main())
