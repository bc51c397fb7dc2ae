"""Fuzz the parsers with thousands of damaged documents of every type; each must become valid pages in time.

    python -m tests.long.fuzz_parse [--seconds 60] [--seed N] [--case N] [--keep DIR]

All parsers run in a parser process, as in a crawl. Prints the seed, the rate and the outcomes. Exits with 1 if a parser
crashed, hung, raised or returned an invalid result (see ``faults``), or if memory grew. Failing documents are saved in
DIR; seed and number reproduce a case.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Final

from tests.long.fuzz_parse_cases import damaged
from tests.long.memory import resident_mib
from tests.parse.hostile.everything import made_of_everything

from scoter.core.page import Content, Page
from scoter.core.url import Url, canonical
from scoter.errors import UserError
from scoter.parse import Parsed, ParseFailed
from scoter.parse.mediatype import decide_type
from scoter.parse.parser_process import ParserProcess
from scoter.parse.records import ParseOutcome

LONGEST: Final = timedelta(seconds=5)  # for one document of at most 300 KB
MEMORY: Final = 600 * 2**20
GROWTH: Final = 40.0  # MiB of memory growth allowed in the second half of a run
MOST_LINKS: Final = 10_000
MOST_PAGES: Final = 1_001
MOST_TEXT: Final = 20_000_000
SAID: Final = ("", "text/html", "text/plain", "application/octet-stream", "text/xml", "application/zip", "image/png")


def faults(content: Content, outcome: ParseOutcome) -> list[str]:
    """Return what is wrong with a parse result; finding nothing is fine."""
    if isinstance(outcome, ParseFailed):
        sound = outcome.reason in ("empty", "no_parser")
        return [] if sound else [f"{outcome.reason}: {outcome.detail}"]
    pages = outcome.pages
    found = [fault for page in pages for fault in _page_faults(page)]
    if pages[0].url != content.url:
        found.append(f"the first page has another URL than the document: {pages[0].url}")
    if len(pages) > MOST_PAGES:
        found.append(f"{len(pages)} pages")
    if len({page.url for page in pages}) != len(pages):
        found.append("two pages have the same URL")
    if sum(len(page.text) + len(page.main_text) + len(page.markdown) for page in pages) > MOST_TEXT:
        found.append("too much text")
    return found


def _page_faults(page: Page) -> list[str]:
    links = [link.target for link in page.outlinks]
    others = [
        page.canonical,
        page.base,
        page.refresh.target if page.refresh else None,
        *(a.url for a in page.alternates),
    ]
    urls = {url for url in (*links, *others, page.url) if url is not None}
    found = [f"not canonical: {url.text!r}" for url in urls if not _is_canonical(url)]
    found += [f"{len(links)} links"] if len(links) > MOST_LINKS else []
    found += [f"a title of {len(page.title)} characters"] if len(page.title) > 5_000 else []
    found += [f"a doubt of {len(page.doubt)} characters"] if len(page.doubt) > 500 else []
    longest = max((len(link.anchor) for link in page.outlinks), default=0)
    found += [f"an anchor text of {longest} characters"] if longest > 2_000 else []
    return found


def _is_canonical(url: Url) -> bool:
    try:
        return canonical(url.text) == url
    except UserError:
        return False


class ParseFuzz:
    """A run with its outcomes and problems."""

    def __init__(self, seed: int, keep: Path) -> None:
        self._seed = seed
        self._keep = keep
        self._process = ParserProcess(made_of_everything(), LONGEST, MEMORY)
        self.outcomes: Counter[str] = Counter()
        self.slowest = (0.0, 0)
        self.problems: Counter[str] = Counter()
        self.memory: list[float] = []

    def case(self, number: int) -> ParseOutcome:
        chance = random.Random(f"{self._seed}/{number}")
        content = damaged(chance)
        decide_type(chance.choice(SAID), content.url, content.body)
        began = time.monotonic()
        outcome = self._process.parse(content)
        self.slowest = max(self.slowest, (time.monotonic() - began, number))
        if isinstance(outcome, Parsed):
            self.outcomes["in doubt" if outcome.page.doubt else "parsed"] += 1
        else:
            self.outcomes[outcome.reason] += 1
        for fault in faults(content, outcome):
            self._report(number, content, fault)
        if number % 200 == 0 and (process := self._process.pid) is not None:
            self.memory.append(resident_mib(process))
        return outcome

    def close(self) -> None:
        self._process.close()

    def _report(self, number: int, content: Content, fault: str) -> None:
        """Print a new kind of fault and save its document; faults that differ only in numbers are one kind."""
        kind = f"{content.media_type}: {re.sub(r'[0-9]+', '0', fault)[:90]}"
        self.problems[kind] += 1
        if self.problems[kind] == 1:
            file = self._keep / f"{self._seed}-{number}"
            file.write_bytes(content.body)
            print(
                f"case {number}, {content.media_type}, charset {content.encoding!r}: {fault}\n  {file}", file=sys.stderr
            )


def run(seconds: float, seed: int, keep: Path) -> list[str]:
    """Fuzz for a while, print a summary, and return what is wrong."""
    fuzz = ParseFuzz(seed, keep)
    began, number = time.monotonic(), 0
    while time.monotonic() < began + seconds:
        fuzz.case(number)
        number += 1
    fuzz.close()
    passed = time.monotonic() - began
    middle = fuzz.memory[len(fuzz.memory) // 2]
    print(f"seed {seed}: {number:,} documents in {passed:.0f} s, {number / passed:,.0f}/s")
    print("  " + ", ".join(f"{count:,} {word}" for word, count in fuzz.outcomes.most_common()))
    print(f"  the slowest took {fuzz.slowest[0]:.2f} s (case {fuzz.slowest[1]})")
    print(f"  parser process: {fuzz.memory[-1]:.0f} MiB at the end, {middle:.0f} MiB in the middle")
    problems = [f"{count:,} × {kind}" for kind, count in fuzz.problems.most_common()]
    return problems + (["memory grew"] if fuzz.memory[-1] - middle > GROWTH else [])


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the parsers.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, help="repeat the run with this seed")
    parser.add_argument("--case", type=int, help="repeat one case and show the result")
    parser.add_argument("--keep", type=Path, help="folder for documents that parsers failed on")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}", flush=True)  # first, so that a failing run can be repeated
    keep = options.keep or Path(tempfile.mkdtemp(prefix="fuzz-parse-"))
    keep.mkdir(parents=True, exist_ok=True)
    if options.case is not None:
        fuzz = ParseFuzz(seed, keep)
        print(fuzz.case(options.case))
        fuzz.close()
        return 1 if fuzz.problems else 0
    problems = run(options.seconds, seed, keep)
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
