"""Measure search: quality next to SQLite FTS5, cost next to plain tantivy; exit with 1 if a target is missed.

    python -m benchmarks.search [--pages 200000] [--queries 400] [--keep DIR]

Below 50,000 pages, the start of a process and the smallest files count too much. Then the costs are without the start,
the best of two runs, and the ratios of cost and size to plain tantivy must not be much worse than they were. All costs
are CPU time, of all threads.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.search import quality, speed
from benchmarks.search.corpus import Corpus
from benchmarks.search.queries import known_items
from benchmarks.search.tables import refetch, write_crawl

_ENOUGH = 50_000


class SearchBenchmark:
    """Measures one corpus and collects the targets that are missed."""

    def __init__(self, folder: Path, corpus: Corpus, asked: int) -> None:
        self.missed: list[str] = []
        self._folder = folder
        self._crawl = folder / "crawl"
        self._corpus = corpus
        self._asked = asked
        self._is_large = corpus.pages >= _ENOUGH

    def run(self) -> None:
        note = self._folder / "text_bytes"
        if not note.exists():
            note.write_text(str(write_crawl(self._crawl, self._corpus)))
        shutil.rmtree(self._crawl / "segments/20261116000000", ignore_errors=True)
        built = self._build(int(note.read_text()))
        self._queries()
        self._quality()
        self._update(built)

    def _build(self, text: int) -> float:
        plain, ours = self._costs()
        cost, other = (each.cpu / self._corpus.pages * 1e3 for each in (ours, plain))
        size, other_size = (speed.size_of(each) / text for each in (self._crawl / "index", self._folder / "plain"))
        print(f"{self._corpus.pages:,} pages of {text / self._corpus.pages:,.0f} bytes; tantivy alone in parentheses")
        print(f"  CPU per page   {cost:.2f} ms  ({other:.2f})  ratio {cost / other:.2f}")
        print(f"  memory         {ours.memory} MiB  ({plain.memory})")
        print(f"  size of index  {size:.0%} of the text  ({other_size:.0%})", flush=True)
        # On another machine, tantivy alone tells how fast it is.
        most = speed.MS_PER_PAGE * max(1.0, other / speed.PLAIN_MS_PER_PAGE)
        most = most if self._is_large else speed.MOST_RATIO * other
        most_size = speed.MOST_SIZE if self._is_large else speed.MOST_SIZE_RATIO * other_size
        self._target(cost <= most, f"{cost:.2f} ms of CPU per page, not {most:.2f}")
        self._target(ours.memory <= speed.MOST_MEMORY, f"{ours.memory} MiB of memory, not {speed.MOST_MEMORY}")
        self._target(size <= most_size, f"an index of {size:.0%} of the text, not {most_size:.0%}")
        return ours.cpu

    def _costs(self) -> tuple[speed.ProcessCost, speed.ProcessCost]:
        """Return the cost of building an index with tantivy alone and with Scoter; small ones without the start."""
        if self._is_large:
            return self._cost_of_plain(self._folder), self._cost_of_index(self._folder)
        start = self._folder / "start"
        if not start.exists():
            write_crawl(start / "crawl", Corpus(1, self._corpus.seed))
        return (
            speed.best(lambda: self._cost_of_plain(self._folder), lambda: self._cost_of_plain(start)),
            speed.best(lambda: self._cost_of_index(self._folder), lambda: self._cost_of_index(start)),
        )

    @staticmethod
    def _cost_of_plain(folder: Path) -> speed.ProcessCost:
        shutil.rmtree(folder / "plain", ignore_errors=True)
        return speed.run("benchmarks.search.plain", str(folder / "crawl"), str(folder / "plain"))

    @staticmethod
    def _cost_of_index(folder: Path) -> speed.ProcessCost:
        for name in ("index", "indexdb"):
            shutil.rmtree(folder / "crawl" / name, ignore_errors=True)
        return speed.run("scoter", "index", str(folder / "crawl"), "--quiet")

    def _queries(self) -> None:
        found = speed.latencies(self._crawl / "index", list(speed.queries(self._corpus, self._asked)))
        median, slowest = speed.share(found, 0.5), speed.share(found, 0.99)
        print(f"  {len(found):,} queries: p50 {median:.1f} ms, p99 {slowest:.1f} ms of CPU", flush=True)
        self._target(median <= speed.MEDIAN_MS, f"p50 of {median:.1f} ms, not {speed.MEDIAN_MS}")
        self._target(slowest <= speed.SLOWEST_MS, f"p99 of {slowest:.1f} ms, not {speed.SLOWEST_MS}")

    def _quality(self) -> None:
        file = self._folder / "fts5.db"
        if not file.exists():
            quality.fill_fts5(file, self._corpus)
        items = list(known_items(self._corpus, self._asked))
        ours = quality.judged(items, quality.of_index(self._crawl / "index"))
        theirs = quality.judged(items, quality.of_fts5(file))
        print("\n".join(quality.report(ours, theirs)), flush=True)
        self.missed += quality.missed(ours, theirs)

    def _update(self, built: float) -> None:
        changed = range(0, self._corpus.pages, 100)
        refetch(self._crawl, self._corpus, changed)
        used = speed.run("scoter", "index", str(self._crawl), "--quiet").cpu
        start = 0.0 if self._is_large else min(self._cost_of_index(self._folder / "start").cpu for _ in range(2))
        cost, most = (used - start) / built, speed.MOST_UPDATE if self._is_large else speed.MOST_SMALL_UPDATE
        without = f", without {start:.1f} s for the start of the process" if start else ""
        print(f"  updating {len(changed):,} pages costs {cost:.1%} of a full build{without}", flush=True)
        self._target(cost <= most, f"an update of {cost:.1%}, not {most:.0%}")

    def _target(self, is_met: bool, otherwise: str) -> None:
        if not is_met:
            self.missed.append(otherwise)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=400, help="pages to ask for, several times each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="create the crawl in this folder and keep it")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = said.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        benchmark = SearchBenchmark(folder, Corpus(said.pages, said.seed), said.queries)
        benchmark.run()
    for each in benchmark.missed:
        print(f"MISSED  {each}")
    return 1 if benchmark.missed else 0


if __name__ == "__main__":
    sys.exit(main())
