"""What a crawl of a given size needs: machines, hours, money, and what runs out first.

    python -m benchmarks.scale
    python -m benchmarks.scale --pages-per-day 50e6 --page-bytes 60000 --urls 5e9

The costs are measured ones (``COSTS`` says where each comes from); everything else is arithmetic, which
``docs/scale.md`` explains. Change a price or a machine on the command line, not here.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from msgspec import Struct

DAY = 86_400
GB, TB = 1e9, 1e12


class Costs(Struct, frozen=True, kw_only=True):
    """Measured costs, in CPU seconds and bytes; on the compiled build, on cores of one machine of 2026."""

    fetch_page: float = 0.78 / 327 - 25e3 * 57.5e-9
    """Per page, without what grows with its size. ``make bench-batch``: 327 pages of 25 KB per CPU second in all."""
    fetch_byte: float = 57.5e-9
    """Per byte of a page. The same, between pages of 25 KB and of 128 KB (110 per CPU second)."""
    tls_connection: float = 1.5e-3
    """Per connection: an assumption, three times an ECDSA P-256 handshake of OpenSSL; the benchmarks have no TLS."""
    update_link: float = 2.7e-6
    """updatedb, per link. On 2 million rows, 200,000 pages with 4 million links took 17.4, a hundredth of it 6.6."""
    update_row: float = 2.8e-6
    """updatedb, per row of the crawldb that is rewritten: the smaller of these, without the start of the command."""
    generate_row: float = 1.0e-6
    """generate, per row of the crawldb: 9 to 12 CPU seconds for 10 million rows."""
    link_build: float = 2.0e-6
    """webgraph and PageRank, per link. ``make bench-links``: 205 and 45 CPU seconds for 100 million links."""
    archive_share: float = 0.2
    """Bytes in the archive per byte of a page, compressed: of realistic HTML."""
    row_bytes: float = 40.0
    """Bytes of a row of the crawldb on disk: 360 MB for 10 million rows, and some metadata."""
    spark_factor: float = 8.0
    """CPU time of a job on Spark, relative to DuckDB: 4 to 14 at a million rows on a standalone cluster."""


class Machine(Struct, frozen=True, kw_only=True):
    """A machine to rent: i7i.4xlarge, which Chan's crawl of 2025 used, at its on-demand price."""

    name: str = "16 vCPU, 128 GB, 3.75 TB NVMe"
    cores: int = 16
    disk: float = 3.75 * TB
    network: float = 10e9 / 8
    """Bytes per second."""
    price: float = 1.51
    """Dollars per hour."""
    busy: float = 0.8
    """The share of the CPU that can be used."""


class Crawl(Struct, frozen=True, kw_only=True):
    """What is to be crawled."""

    name: str
    pages_per_day: float
    urls: float
    """Rows of the crawldb."""
    page_bytes: float = 100e3
    """Bytes of a page, not compressed: between the 25 KB and 128 KB of the benchmarks."""
    transfer_share: float = 0.25
    """Bytes on the network per byte of a page: most servers compress."""
    links: float = 50.0
    pages_per_connection: float = 10.0
    delay: float = 5.0
    """Seconds between two requests to a host."""
    rounds_per_day: float = 4.0
    touched: float = 0.02
    """The share of the crawldb's rows that a round changes, if only those are rewritten."""
    is_incremental: bool = True
    days_kept: float = 1.0
    """Days of archives on the machines, before they are moved to an object store."""


class Need(Struct, frozen=True, kw_only=True):
    """What a crawl needs per day, and the machines for it by resource."""

    core_hours: dict[str, float]
    machines: dict[str, float]
    hosts: float
    archive: float
    on_spark: bool

    @property
    def total_core_hours(self) -> float:
        return sum(self.core_hours.values())

    @property
    def bottleneck(self) -> str:
        return max(self.machines, key=lambda name: self.machines[name])

    @property
    def count(self) -> int:
        return max(1, math.ceil(max(self.machines.values())))


ONE_MACHINE_ROWS = 1e9
"""Rows that DuckDB joins on one machine between two rounds; above, the jobs run on Spark."""


def need(crawl: Crawl, machine: Machine, costs: Costs) -> Need:
    """Return what a crawl needs."""
    pages = crawl.pages_per_day
    fetch = pages * (costs.fetch_page + crawl.page_bytes * costs.fetch_byte)
    tls = pages / crawl.pages_per_connection * costs.tls_connection
    rewritten = crawl.urls * (crawl.touched if crawl.is_incremental else 1.0) * crawl.rounds_per_day
    on_spark = crawl.urls > ONE_MACHINE_ROWS
    factor = costs.spark_factor if on_spark else 1.0
    update = factor * (pages * crawl.links * costs.update_link + rewritten * costs.update_row)
    select = factor * crawl.urls * costs.generate_row * crawl.rounds_per_day
    links = factor * pages * crawl.links * costs.link_build
    core_hours = {
        "fetch and parse": fetch / 3600,
        "TLS handshakes": tls / 3600,
        "updatedb": update / 3600,
        "generate": select / 3600,
        "link graph and ranks": links / 3600,
    }
    archive = pages * crawl.page_bytes * costs.archive_share
    machines = {
        "CPU": sum(core_hours.values()) / 24 / (machine.cores * machine.busy),
        "network": pages * crawl.page_bytes * crawl.transfer_share / DAY / (machine.network * machine.busy),
        "disk": (archive * crawl.days_kept + 2 * crawl.urls * costs.row_bytes) / (machine.disk * machine.busy),
    }
    hosts = pages / DAY * crawl.delay
    return Need(core_hours=core_hours, machines=machines, hosts=hosts, archive=archive, on_spark=on_spark)


CRAWLS = (
    Crawl(name="10 million pages a day", pages_per_day=10e6, urls=300e6),
    Crawl(name="1 billion pages a day", pages_per_day=1e9, urls=30e9),
    Crawl(name="1 billion pages a day, crawldb of 100 billion", pages_per_day=1e9, urls=100e9),
    Crawl(name="the same, crawldb rewritten every round", pages_per_day=1e9, urls=100e9, is_incremental=False),
)
CHAN = 4_900.0
"""Core hours of a billion pages: 12 machines of 16 vCPU for 25.5 hours (andrewkchan.dev, 2025), without a crawldb."""


def report(crawl: Crawl, machine: Machine, costs: Costs) -> str:
    """Return what a crawl needs, as text."""
    found = need(crawl, machine, costs)
    size = f"{crawl.pages_per_day / DAY:,.0f} pages/s of {crawl.page_bytes / 1e3:,.0f} KB"
    lines = [f"{crawl.name}: {size}, a crawldb of {crawl.urls / 1e9:,.1f} billion URLs"]
    lines += [f"  {name:22} {hours:10,.1f} core hours a day" for name, hours in found.core_hours.items()]
    lines.append(f"  {'together':22} {found.total_core_hours:10,.1f} core hours a day")
    lines += [f"  {f'machines for {name}':22} {count:10,.1f}" for name, count in found.machines.items()]
    dollars = found.count * machine.price * 24
    lines.append(
        f"  {found.count:,} machine{'s' if found.count > 1 else ''} of {machine.name}: ${dollars:,.0f} a day,"
        f" ${dollars / crawl.pages_per_day * 1e6:,.2f} per million pages; bottleneck: {found.bottleneck}"
    )
    lines.append(
        f"  at least {found.hosts:,.0f} hosts must be open at a time (one request in {crawl.delay:g} s each);"
        f" archive {found.archive / TB:,.1f} TB a day; jobs on {'Spark' if found.on_spark else 'one machine'}"
    )
    return "\n".join(lines)


def compare(machine: Machine, costs: Costs) -> str:
    """Return the core hours of a billion pages next to those of Chan's crawl."""
    lines = [f"A billion pages, next to {CHAN:,.0f} core hours of Chan's crawl (HTML only, without crawldb and links):"]
    for page_bytes in (25e3, 100e3, 128e3, 200e3):
        found = need(Crawl(name="", pages_per_day=1e9, urls=0, page_bytes=page_bytes), machine, costs)
        hours = found.core_hours["fetch and parse"] + found.core_hours["TLS handshakes"]
        lines.append(f"  pages of {page_bytes / 1e3:3,.0f} KB: {hours:6,.0f} core hours, {hours / CHAN:.2f} of Chan's")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages-per-day", type=float, help="plan this instead of the usual cases")
    parser.add_argument("--urls", type=float, default=1e9, help="rows of the crawldb")
    parser.add_argument("--page-bytes", type=float, default=100e3)
    parser.add_argument("--delay", type=float, default=5.0, help="seconds between requests to a host")
    parser.add_argument("--cores", type=int, default=Machine().cores)
    parser.add_argument("--price", type=float, default=Machine().price, help="dollars per hour and machine")
    given = parser.parse_args(arguments)
    if min(given.page_bytes, given.cores, given.urls + 1) <= 0 or (given.pages_per_day or 1) <= 0:
        parser.error("numbers must be positive")
    costs = Costs()
    machine = Machine(cores=given.cores, price=given.price, name=f"{given.cores} vCPU")
    if given.pages_per_day:
        asked = Crawl(
            name="asked",
            pages_per_day=given.pages_per_day,
            urls=given.urls,
            page_bytes=given.page_bytes,
            delay=given.delay,
        )
        print(report(asked, machine, costs))
        return 0
    print("\n\n".join(report(crawl, machine, costs) for crawl in CRAWLS))
    print()
    print(compare(machine, costs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
