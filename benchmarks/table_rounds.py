"""CPU time, memory and bytes written by updates that touch a small share of a crawldb.

    python -m benchmarks.table_rounds --rows 1000000 --fetched 10000 --links 200000 --rounds 30

Creates a crawldb of that many URLs and runs ``updatedb`` for as many segments as there are rounds, each with so many
fetched URLs and links spread over all keys. Prints the cost of the first update, what it costs if the crawldb is
rewritten, the highest memory, the bytes written for each byte of changed rows, and the cost of ``generate`` before and
after ``scoter compact``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from benchmarks import batch_tables
from benchmarks.batch_tables import FULL, SLACK, apart, connect, fingerprint, make_segment, run, take_back
from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.host_counts import record_host_counts
from scoter.config.units import read_size
from scoter.engine.duckdb import DuckDbEngine
from scoter.store.tables import Table

MAX_CPU = 12.0  # of the first update of 10 million rows
MAX_GENERATE = 1.3
MAX_WRITTEN = 4.0
GENERATE = ("generate", "--top-n", "100000")


class Folders(Struct):
    """Counts the bytes of files as they appear below a folder."""

    path: Path
    seen: dict[str, int] = {}

    def new_bytes(self) -> dict[str, int]:
        """Return the sizes of the Parquet files that are new since the last call."""
        now = {str(file): file.stat().st_size for file in self.path.rglob("*.parquet")}
        new = {name: size for name, size in now.items() if name not in self.seen}
        self.seen = {**self.seen, **new}
        return new


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--fetched", type=int)
    parser.add_argument("--links", type=int)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--memory", default="4GiB")
    parser.add_argument("--seed", type=int, default=1)
    said = parser.parse_args(arguments)
    fetched, links = said.fetched or said.rows // 100, said.links or said.rows // 5
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crawl"
        apart(make_crawldb, path, said.rows, said.seed)
        return 1 if measure(CrawlDir.open(path), said, fetched, links) else 0


def make_crawldb(path: Path, rows: int, seed: int) -> None:
    """Create a crawl without segments."""
    crawl = CrawlDir.create(path, batch_tables.NOW)
    with Table.write(crawl.crawldb, schemas.CRAWLDB, writer="benchmark") as new:
        file = new.workspace / "all.parquet"
        batch_tables.copy_crawldb(connect(path, rows, seed), file, rows)
        new.adopt(file)
        new.commit()
    with DuckDbEngine(path, 2 * 2**30) as engine:
        record_host_counts(crawl, engine)  # as every job does that writes a crawldb


def add_segment(crawl: CrawlDir, rows: int, number: int, fetched: int, links: int) -> None:
    """Add the segment of a round; each has its own seed, and so its own links."""
    connection = connect(crawl.path, rows, number + 1)
    make_segment(connection, crawl, rows, f"{20261115000000 + number}", fetched=fetched, links=links)


def measure(crawl: CrawlDir, said: argparse.Namespace, fetched: int, links: int) -> list[str]:
    """Print the measurements and return what missed its target."""
    missed = []
    rows, memory = said.rows, said.memory
    apart(add_segment, crawl, rows, 1, fetched, links)
    _, whole, _ = run(crawl, ("updatedb",), memory, [f"db.incremental_min_rows={2 * rows}"])
    expected = apart(fingerprint, crawl)
    take_back(crawl, keep_segments=True)
    folders = Folders(crawl.crawldb)
    folders.new_bytes()
    written = changed = 0
    first = peak = 0.0
    costs: list[float] = []
    for number in range(1, said.rounds + 1):
        if number > 1:
            apart(add_segment, crawl, rows, number, fetched, links)
        status, cpu, resident = run(crawl, ("updatedb",), memory, ["db.incremental_min_rows=0"])
        if status:
            return [f"updatedb failed in round {number}"]
        new = folders.new_bytes()
        costs.append(cpu)
        written += sum(new.values())
        changed += delta_bytes(crawl, new)
        peak = max(peak, resident)
        if number == 1:
            first = cpu
            found = apart(fingerprint, crawl)
            what = f"{rows:,} URLs, {fetched:,} fetched, {links:,} links"
            print(f"updatedb, {what}: {cpu:.1f} CPU s; rewriting: {whole:.1f}")
            if found.rpartition("-")[0] != expected.rpartition("-")[0]:
                missed.append(f"the fingerprint is {found}, not {expected}")
        print(
            f"  round {number}: {cpu:.1f} CPU s, {resident / 2**20:,.0f} MiB, {sum(new.values()) / 2**20:.1f} MiB",
            flush=True,
        )
    _, merged, _ = run(crawl, GENERATE, memory, [])
    run(crawl, ("compact",), memory, [])
    _, compacted, _ = run(crawl, (*GENERATE, "--force"), memory, [])
    amplification = written / max(changed, 1)
    print(
        f"written {written / 2**20:,.0f} MiB for {changed / 2**20:,.0f} MiB of changed rows: {amplification:.1f} times"
    )
    print(f"generate: {merged:.1f} CPU s with delta parts, {compacted:.1f} compacted: {merged / compacted:.2f} times")
    if rows >= FULL and first > MAX_CPU:
        missed.append(f"the first update took {first:.1f} CPU s")
    if min(costs) > whole:  # the least of several: other work on the machine costs CPU time too
        missed.append("the update costs more than rewriting")
    if amplification > MAX_WRITTEN:
        missed.append(f"written {amplification:.1f} times")
    if merged > MAX_GENERATE * compacted:
        missed.append(f"generate takes {merged / compacted:.2f} times as long")
    if peak > SLACK * read_size(memory):
        missed.append(f"{peak / 2**20:,.0f} MiB resident")
    for each in missed:
        print(f"MISSED  {each}")
    return missed


def delta_bytes(crawl: CrawlDir, new: dict[str, int]) -> int:
    """Return the size of the part that an update wrote: the first version since the last one."""
    versions = sorted({Path(name).relative_to(crawl.crawldb).parts[0] for name in new})
    return sum(size for name, size in new.items() if f"/{versions[0]}/" in name)


if __name__ == "__main__":
    sys.exit(main())
