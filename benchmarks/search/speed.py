"""The cost of indexing, of queries and of an update, next to tantivy alone on the same documents."""

from __future__ import annotations

import os
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from benchmarks.search.corpus import Corpus
from benchmarks.search.queries import known_items
from scoter import Searcher

MS_PER_PAGE: Final = 0.8
PLAIN_MS_PER_PAGE: Final = 0.49
"""What tantivy alone took on the machine that the target was set for."""
MOST_RATIO: Final = 2.7
"""Of the cost of a page to tantivy alone, on small corpora: a quarter more than was measured."""
MOST_SIZE_RATIO: Final = 0.83
"""Of the size of the index to that of tantivy alone, on small corpora; 0.79 was measured."""
MOST_SMALL_UPDATE: Final = 0.2
"""Of the cost of a full build, on small corpora, both without the start of the process; 0.06 to 0.14 was measured."""
MOST_MEMORY: Final = 512
MOST_SIZE: Final = 0.6
MEDIAN_MS: Final = 5.0
SLOWEST_MS: Final = 50.0
MOST_UPDATE: Final = 0.03
_REPEATS: Final = 3
_SAMPLED: Final = 0.02


class ProcessCost(Struct, frozen=True):
    """What a process took: CPU seconds, and MiB of memory at most, without files that the kernel can drop."""

    cpu: float
    memory: int


def run(*words: str) -> ProcessCost:
    """Run a Python module, and return what it took."""
    said = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.executable, [sys.executable, "-m", *words], os.environ, file_actions=said)
    peak = [0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_SAMPLED):
            peak[0] = max(peak[0], _own_memory(child))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    _, status, used = os.wait4(child, 0)
    done.set()
    watcher.join()
    if status:
        raise SystemExit(f"{' '.join(words)} failed")
    return ProcessCost(used.ru_utime + used.ru_stime, peak[0])


def best(run: Callable[[], ProcessCost], start: Callable[[], ProcessCost]) -> ProcessCost:
    """Return the cost of a process without that of its start, each the best of two runs, and the largest memory."""
    found, started = [run(), run()], [start(), start()]
    cpu = min(each.cpu for each in found) - min(each.cpu for each in started)
    return ProcessCost(cpu, max(each.memory for each in found))


def _own_memory(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("RssAnon")), 0)


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def queries(corpus: Corpus, count: int, seed: int = 2) -> Iterator[str]:
    """Yield what people ask: known items of every kind, frequent words, phrases, and restrictions."""
    chance = random.Random(seed)
    for item in known_items(corpus, count, seed):
        yield item.text
    for number in chance.sample(range(corpus.pages), min(count, corpus.pages)):
        page = corpus.page(number)
        words = re.findall(r"\w{2,3}", page.text) if page.lang == "zh" else page.text.split()
        place = chance.randrange(max(1, len(words) - 3))
        yield " ".join(words[place : place + 2])
        yield f'"{" ".join(words[place : place + 3])}"'
        host = page.url.split("/")[2]
        yield f"{words[place]} site:{host}"
        yield f"{page.title} lang:{page.lang} sort:date"


def latencies(folder: Path, asked: Sequence[str]) -> list[float]:
    """Return the milliseconds of CPU time that queries take, best of three, in ascending order.

    A query runs in one thread, so this is its duration where nothing else runs.
    """
    searcher = Searcher(folder)
    found = []
    for query in asked:
        best = float("inf")
        for _ in range(_REPEATS):
            began = time.thread_time()
            searcher.search(query)
            best = min(best, time.thread_time() - began)
        found.append(best * 1e3)
    return sorted(found)


def share(values: Sequence[float], part: float) -> float:
    """Return a percentile of sorted values."""
    return values[min(len(values) - 1, int(len(values) * part))]
