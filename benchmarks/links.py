"""CPU time and memory of building, ranking and updating a link graph, next to networkit.

    python -m benchmarks.links --nodes 10000000 --links 100000000 --peer .venv-bench/bin/python

Creates a crawl with a seeded power-law graph and runs each command on it in its own process. ``--peer`` is a Python
with networkit, which computes PageRank over the same links in the same run. Targets apply to the full size only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb
import msgspec
import numpy as np

from benchmarks.batch_tables import NOW, apart
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import FETCHED, INFO_FILE, PARSED, Segment, SegmentInfo
from scoter.batch.graph.adjacency import read_adjacency
from scoter.batch.graph.tables import open_graph

FULL = 10_000_000
BUILD_SECONDS, BUILD_MEMORY, RANK_SECONDS, UPDATE_SHARE = 200.0, 2 * 2**30, 60.0, 0.1
PAGES_PER_HOST = 20
_URL = "'http://www.site' || (i // {per}) || '.com/page-' || i || '.html'"
_KEY = "'com,site' || (i // {per}) || ',www)/page-' || i || '.html'"
_HOST = "'www.site' || (i // {per}) || '.com'"


class Cost(msgspec.Struct, frozen=True):
    """CPU seconds and peak memory in bytes of a command."""

    seconds: float
    memory: int


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=FULL)
    parser.add_argument("--links", type=int, default=10 * FULL)
    parser.add_argument("--memory", default="2GiB")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peer", type=Path, help="a Python with networkit")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crawl"
        apart(make_segment, path, "20261115000000", given.nodes, given.links, given.seed, 1)
        build = run("webgraph", path, memory=given.memory)
        rank = run("linkrank", path, "--algorithm", "pagerank", memory=given.memory)
        peer = peer_seconds(path, Path(folder), given.peer) if given.peer else None
        apart(make_segment, path, "20261116000000", given.nodes, given.links, given.seed + 1, 100)
        update = run("webgraph", path, memory=given.memory)
    checks = [
        (f"build in {build.seconds:.1f} CPU s, at most {BUILD_SECONDS:.0f}", build.seconds <= BUILD_SECONDS),
        (f"build in {build.memory / 2**20:,.0f} MiB, at most 2,048", build.memory <= BUILD_MEMORY),
        (f"PageRank to 1e-6 in {rank.seconds:.1f} CPU s, at most {RANK_SECONDS:.0f}", rank.seconds <= RANK_SECONDS),
        (
            f"update of 1 % in {update.seconds:.1f} CPU s, {update.seconds / build.seconds:.0%} of a build, at most 10",
            update.seconds <= UPDATE_SHARE * build.seconds,
        ),
    ]
    print(f"{given.nodes:,} nodes, {given.links:,} links")
    is_full = given.nodes >= FULL
    for text, is_met in checks:
        print(f"{'met   ' if is_met else 'MISSED'}  {text}")
    if peer is not None:
        print(f"networkit: PageRank in {peer:.1f} CPU s; the command takes {rank.seconds / peer:.1f} times as much")
    return 1 if is_full and not all(is_met for _, is_met in checks) else 0


def run(command: str, crawl: Path, *options: str, memory: str) -> Cost:
    """Run a command in a process of its own."""
    words = [command, str(crawl), *options, "-D", f"engine.memory_limit={memory}", "--quiet"]
    begun = time.monotonic()
    child = os.posix_spawn(sys.executable, [sys.executable, "-m", "scoter.cli.main", *words], os.environ)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"scoter {command} failed")
    cost = Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
    took = f"{cost.seconds:.1f} CPU s, {time.monotonic() - begun:.1f} s, {cost.memory / 2**20:,.0f} MiB"
    print(f"scoter {' '.join([command, *options])}: {took}", flush=True)
    return cost


def make_segment(path: Path, name: str, nodes: int, links: int, seed: int, every: int) -> None:
    """Write a parsed segment with every ``every``-th page and its links; targets follow a power law."""
    crawl = CrawlDir.create(path, NOW)
    segment = Segment(crawl.segments / name)
    segment.path.mkdir(parents=True)
    about = SegmentInfo(created=NOW, lists=1, urls=nodes // every)
    (segment.path / INFO_FILE).write_bytes(msgspec.json.encode(about))
    connection = duckdb.connect(config={"threads": 2, "memory_limit": "2GiB", "preserve_insertion_order": False})
    connection.execute(f"SET temp_directory = '{path}'")
    connection.execute(f"CREATE MACRO dice(i, n) AS (hash(i * 8 + n + {seed} * 7919) % 4294967291) / 4294967291.0")
    for part, text in (("url", _URL), ("key", _KEY), ("host", _HOST)):
        connection.execute(f"CREATE MACRO {part}_of(i) AS {text.format(per=PAGES_PER_HOST)}")
    named = "url_of(i) AS url, key_of(i) AS key, host_of(i) AS host"
    pages = (
        f"SELECT {named}, 'success' AS parse_status FROM (SELECT j * {every} AS i FROM range({nodes // every}) r(j))"
    )
    found = f"""SELECT url_of(floor(dice(j, 1) * {nodes // every})::BIGINT * {every}) AS source, {named},
        'anchor ' || (i % 1000) AS anchor
        FROM (SELECT j, floor(dice(j, 2) ** 3 * {nodes})::BIGINT AS i FROM range({links // every}) r(j))"""
    none = f"SELECT {named}, 'success' AS status FROM (SELECT 0 AS i) WHERE false"
    for folder, query in (("crawl_fetch", none), ("parse_data", pages), ("crawl_parse", found)):
        (segment.path / folder).mkdir()
        file = segment.path / folder / "part-00001.parquet"
        connection.execute(f"COPY ({query}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
    segment.finish(FETCHED)
    segment.finish(PARSED)


def peer_seconds(crawl: Path, folder: Path, python: Path) -> float:
    """Return the CPU seconds that networkit needs for PageRank over the same links, without reading them."""
    file = folder / "links.npz"
    apart(_save_pairs, crawl, folder, file)
    script = Path(__file__).with_name("link_peers.py")
    done = subprocess.run([python, script, file], capture_output=True, text=True, check=True)
    return float(done.stdout)


def _save_pairs(crawl: Path, folder: Path, file: Path) -> None:
    with open_graph(CrawlDir.open(crawl)) as opened:
        graph = read_adjacency(opened, folder)
    pairs = [(block.sources, block.targets) for block in graph.blocks()]
    source, target = (np.concatenate([each[at] for each in pairs]) for at in (0, 1))
    np.savez(file, nodes=graph.nodes, source=source, target=target)


if __name__ == "__main__":
    sys.exit(main())
