"""Memory is reused from one page to the next, and across threads."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
from selectolax.lexbor import LexborHTMLParser
from scoter.heap import keep_memory
if sys.argv[1] == "keep":
    keep_memory()
page = b"<p>" + b"<a href=/x class=link>words and words</a><b>more</b> " * 2_000
for _ in range(5):
    LexborHTMLParser(page)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    LexborHTMLParser(page)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="requires glibc")
def test_memory_is_reused_for_the_next_page() -> None:
    assert faults("keep") < 50 < 1_000 < faults("give back")


HOLES = """
import re
from pathlib import Path
from scoter.heap import give_back, keep_memory

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

keep_memory()
blocks = [bytes(30_000) for _ in range(2_000)]
blocks[:-1] = []  # the last block keeps the allocator from returning the rest by itself
before = resident()
give_back()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="requires glibc")
def test_give_back_returns_fragmented_free_memory() -> None:
    done = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True, timeout=60)

    assert int(done.stdout) > 40  # MiB


THREADS = """
import sys, threading
from pathlib import Path
from scoter.heap import keep_memory
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
if sys.argv[1] == "keep":
    keep_memory()
end = threading.Event()
def work(done):
    [bytearray(100_000) for _ in range(40)]
    done.set()
    end.wait()
before = resident()
threads = []
for _ in range(8):
    done = threading.Event()
    threads.append(threading.Thread(target=work, args=(done,)))
    threads[-1].start()
    done.wait()
print((resident() - before) // 2**20)
end.set()
"""


def left_by_threads(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", THREADS, how], capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="requires glibc")
def test_memory_is_reused_across_threads() -> None:
    """Each thread uses four megabytes, one after the other; all threads are still alive."""
    assert left_by_threads("keep") < 12


@pytest.mark.parametrize("order", ["{tune}; import duckdb", "import duckdb; {tune}"])
@pytest.mark.parametrize("tune", ["end_quickly()", "collect_less()"])
def test_process_with_duckdb_ends_in_peace(order: str, tune: str) -> None:
    """Python 3.14 would abort: DuckDB's objects must not outlive the interpreter."""
    code = f"from scoter.heap import collect_less, end_quickly; {order.format(tune=tune)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")
