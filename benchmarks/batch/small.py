"""CPU time of small things: rounds of ten pages, and commands that answer at once.

    python -m benchmarks.batch.small [--runs 5]

Each figure is the median over all processes of a command, from its start to its end. A further round is what a crawl of
five rounds takes more than one of one round, divided by four.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from benchmarks.batch.runs import SOURCES, build_of, crawl_settings, measured
from benchmarks.batch.site import Site, serving

SITE = Site(page_bytes=25_000, links=50, hosts=1, pages_per_host=100)
TOP = 10
ROUNDS = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    found: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name, serving(Path(name), SITE) as port:
        folder, crawl = Path(name), Path(name) / "crawl"
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"{SITE.origin(0, port)}/{number}.html\n" for number in range(TOP)))

        def cost(*arguments: str) -> float:
            return measured([sys.executable, "-m", "scoter.cli.main", *arguments], build_of(SOURCES)).cpu

        def crawled(rounds: int) -> float:
            shutil.rmtree(crawl, ignore_errors=True)
            limits = ("--top-n", str(TOP), "--rounds", str(rounds), "--quiet")
            return cost(*crawl_settings(port), "crawl", str(crawl), str(seeds), *limits)

        for _ in range(asked.runs):
            one, all_rounds = crawled(1), crawled(ROUNDS)
            found[f"a crawl of one round of {TOP} pages"].append(one)
            found[f"each further round of {TOP} pages"].append((all_rounds - one) / (ROUNDS - 1))
            found["scoter --version"].append(cost("--version"))
            found["scoter config show"].append(cost("config", "show"))
            found['scoter sql CRAWL "select 1"'].append(cost("sql", str(crawl), "select 1"))
    for what, times in found.items():
        print(f"{what:36} {statistics.median(times):6.2f} CPU s   ({min(times):.2f} to {max(times):.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
