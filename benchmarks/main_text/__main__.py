"""Measure extractors of main text on the gathered sets, and print a table per set.

python -m benchmarks.main_text --split tune --candidate scoter --worst 20
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import defaultdict
from pathlib import Path
from time import process_time
from typing import Final

from msgspec.json import encode
from selectolax.lexbor import LexborHTMLParser

from benchmarks.main_text import report
from benchmarks.main_text.candidates import Candidate, available
from benchmarks.main_text.measures import Score, article_score, documentation_score, host_words
from benchmarks.main_text.page_sets import Page, read

_KNOWN: Final = 8


def main() -> None:
    """Run the measurement that the command line asks for."""
    candidates = available()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("build/main_text"))
    parser.add_argument("--set", dest="sets", action="append", help="documentation, phrases, readability or newspaper")
    parser.add_argument("--split", choices=["tune", "held-out", "all"], default="all")
    parser.add_argument("--candidate", dest="candidates", action="append", choices=list(candidates))
    parser.add_argument("--host", help="only pages of this host")
    parser.add_argument("--known", type=int, default=_KNOWN, help="known pages per host (8)")
    parser.add_argument("--worst", type=int, default=8, help="list so many of the worst pages (8)")
    parser.add_argument("--json", action="store_true", help="print one JSON object per page and candidate")
    options = parser.parse_args()
    chosen = {name: candidates[name] for name in options.candidates or candidates}
    for file in sorted(options.data.glob("*.jsonl")):
        if options.sets and file.stem not in options.sets:
            continue
        pages = [page for page in read(file) if not options.host or page.host == options.host]
        results = {
            name: _measured(pages, candidate, options.split, options.known) for name, candidate in chosen.items()
        }
        if options.json:
            for name, result in results.items():
                for score in result.scores:
                    sys.stdout.buffer.write(encode({"set": file.stem, "candidate": name, "score": score}) + b"\n")
        else:
            report.show(file.stem, results, options.worst)


def _measured(pages: list[Page], candidate: Candidate, split: str, known: int) -> report.Result:
    hosts: dict[str, list[Page]] = defaultdict(list)
    for page in pages:
        hosts[page.host].append(page)
    scores: list[Score] = []
    seconds = tree_seconds = size = 0.0
    for of_host in hosts.values():
        measured = [page for page in of_host if not page.known and split in ("all", page.split)]
        is_documentation = any(page.generator for page in of_host)
        extract = candidate(_sample(of_host, known) if is_documentation else [])
        words = host_words(of_host) if is_documentation and measured else None
        for page in measured:
            markup = page.html.encode()
            started = process_time()
            LexborHTMLParser(markup)
            parsed = process_time()
            found = extract(markup)
            seconds += process_time() - parsed
            tree_seconds += parsed - started
            size += len(markup)
            scores.append(documentation_score(page, found, words) if words else article_score(page, found))
    return report.Result(scores, seconds, tree_seconds, int(size))


def _sample(pages: list[Page], number: int) -> list[bytes]:
    """Return known pages of a host, or other pages if there are too few."""
    ordered = sorted(pages, key=lambda page: (not page.known, hashlib.sha256(page.name.encode()).digest()))
    return [page.html.encode() for page in ordered[:number]]


main()
