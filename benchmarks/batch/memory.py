"""Fetch a list of 1,000 URLs and one of a million, and compare the memory of the largest process; exit 1 if it grows.

    python -m benchmarks.batch.memory [--long 1000000] [--seconds 20]

Both lists have the same thousand hosts, each with a delay, so that a long list stays queued; the time limit ends both
runs. Every page is different: 25 KB with 55 links, half of them unique to the page.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pyarrow as pa

from benchmarks.nginx import free_port, serving
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.schemas import row_of
from scoter.batch.crawldir.segment import INFO_FILE, Segment, SegmentInfo
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.url import canonical

SHORT = 1_000
GROWTH = 1.2
HOSTS = 1_000
LINKS = 55
PIECES = 11  # of a page: nginx accepts no word of more than 4 KB
NOW = datetime(2026, 11, 15, tzinfo=UTC)
_MEASURE = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
    " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
)


def rules() -> str:
    """Return nginx rules that generate a page for every URL."""
    chance = random.Random(1)
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(2, 9))) for _ in range(3_000)]
    pieces = [""] * PIECES
    for number in range(LINKS):
        text = " ".join(chance.choices(words, k=60))
        href = f"/section/{number}.html" if number % 2 else f"$uri/{number}.html"
        pieces[number % PIECES] += f"<p>{text} <a href='{href}'>{chance.choice(words)}</a></p>"
    page = "".join(f'set $p{number} "{piece}"; ' for number, piece in enumerate(pieces))
    body = "<!DOCTYPE html><title>$uri</title>" + "".join(f"$p{number}" for number in range(PIECES))
    return (
        " location = /robots.txt { return 404; }"
        f' location / {{ default_type text/html; {page} return 200 "{body}"; }}'
    )


def make(folder: Path, urls: int, port: int) -> None:
    """Write a crawl with one segment of one list."""
    crawl = CrawlDir.create(folder, NOW)
    segment = Segment(crawl.segments / "20261115000000")
    lists = segment.crawl_generate()
    datum = CrawlDatum(status=DbStatus.UNFETCHED, fetch_time=NOW, score=1.0)
    with lists.part("list-00000") as part:
        for start in range(0, urls, 10_000):
            numbers = range(start, min(start + 10_000, urls))
            found = [
                canonical(f"http://www.host{n % HOSTS}.test:{port}/section/{n % 97}/page-{n}.html") for n in numbers
            ]
            rows = [{**row_of(url, datum), "list": 0} for url in found]
            part.write(pa.RecordBatch.from_pylist(rows, schema=lists.schema))
    (segment.path / INFO_FILE).write_bytes(msgspec.json.encode(SegmentInfo(created=NOW, lists=1, urls=urls)))


def peak(folder: Path, port: int, seconds: int) -> int:
    """Fetch for a while, and return the MiB of the largest process."""
    settings = {
        "agent.name": "bench",
        "fetch.delay": "1s",
        "fetch.time_limit": f"{seconds}s",
        "fetch.connect_to": f'["*:{port}=127.0.1.1:{port}"]',
        "fetch.allow_networks": '["127.0.0.0/8"]',
        "fetch.allow_ports": f"[{port}]",
        "fetch.max_exceptions_per_queue": "-1",
    }
    flags = [part for name, value in settings.items() for part in ("-D", f"{name}={value}")]
    fetch = [sys.executable, "-m", "scoter.cli.main", *flags, "fetch", str(folder), "--parse", "--quiet"]
    done = subprocess.run([sys.executable, "-c", _MEASURE, *fetch], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return int(done.stdout.split()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--long", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=20)
    asked = parser.parse_args()
    peaks = []
    with tempfile.TemporaryDirectory() as name, serving(Path(name), free_port(), rules=rules()) as port:
        for urls in (SHORT, asked.long):
            folder = Path(name) / f"crawl{urls}"
            make(folder, urls, port)
            peaks.append(peak(folder, port, asked.seconds))
            print(f"{urls:>9,} URLs  {peaks[-1]:>5} MiB in the largest process")
    ratio = peaks[1] / peaks[0]
    print(f"{'met   ' if ratio <= GROWTH else 'MISSED'}  {ratio:.2f} times (at most {GROWTH})")
    return 0 if ratio <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
