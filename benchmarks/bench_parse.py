"""Parsing HTML: CPU time per page of 25 and 125 KB, compared with bare selectolax, parsel and BeautifulSoup.

    python benchmarks/bench_parse.py [--peers .venv-bench/bin/python]

"Bare" is the minimum that finds links: Lexbor's tree, one CSS selection, the attributes. Ours is what a crawl needs by
default: encoding, title, text, links with anchor texts (resolved, canonical and filtered), robots, headings, meta
elements and the signature of the body. Links of the site are cached already. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script can import its own folder only, and this is in a package

import numpy as np
import pyarrow as pa
from selectolax.lexbor import LexborHTMLParser

from benchmarks.pages import page
from scoter.config import load
from scoter.core.page import Content, Page
from scoter.core.signature import md5
from scoter.core.url import canonical
from scoter.heap import collect_less, keep_memory
from scoter.parse import LinkRules
from scoter.parse.html import HtmlOptions, HtmlReader
from scoter.parse.prescan import is_harmless

LOADED = (np, pa)  # a process that fetches for a crawl has them for its tables, and makes some searches by them
PAGES = 20
ROUNDS = 25
HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-bench" / "bin" / "python"
FASTER = {"parsel": 5.0, "BeautifulSoup on lxml": 20.0}
"""The least factor by which a peer must be slower than we are."""
CONTAINMENT = 0.15
METADATA = 1e-3
"""CPU seconds that metadata may add to a page of 125 KB."""


class Kind(NamedTuple):
    """A kind of page, and our allowed time as a multiple of bare selectolax's."""

    size: int
    links: int
    most: float


KINDS = (Kind(25_000, 55, 4.0), Kind(125_000, 250, 2.5))


def bare(content: Content) -> object:
    return [node.attributes.get("href") for node in LexborHTMLParser(content.body).css("a[href]")]


class Ours:
    """Everything that a crawl does with a page by default, and optionally metadata."""

    def __init__(self) -> None:
        config = load(overrides=["agent.name=bench"])
        self._reader = HtmlReader(HtmlOptions.of(config))
        self._rules = LinkRules(config)
        self._more = HtmlReader(HtmlOptions.of(load(overrides=["agent.name=bench", "parse.metadata=true"])))

    def read(self, content: Content) -> Page:
        return self._reader.read(content)

    def everything(self, content: Content) -> object:
        page = self._reader.read(content)
        return self._rules.keep(page), md5(content.body, content.url.text)

    def metadata(self, content: Content) -> object:
        return self._more.read(content)


def measured(work: dict[str, Callable[[Content], object]], contents: list[Content]) -> dict[str, float]:
    """Return the CPU seconds per page of each, using the best time of every page: other programs can only add to it.

    They alternate, so that a busy machine affects all alike.
    """
    best = {name: [9.0] * len(contents) for name in work}
    for _ in range(ROUNDS):
        for name, do in work.items():
            for number, content in enumerate(contents):
                start = time.process_time()
                do(content)
                best[name][number] = min(best[name][number], time.process_time() - start)
    return {name: sum(each) / len(each) for name, each in best.items()}


def peers(python: str, bodies: list[list[bytes]]) -> list[dict[str, float]]:
    if not Path(python).exists():
        print(f"  parsel and BeautifulSoup are left out: there is no {python}")
        return [{} for _ in bodies]
    pages = json.dumps([[body.decode() for body in each] for each in bodies])
    done = subprocess.run(
        [python, str(HERE / "parse_peers.py")], input=pages, capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode:
        print(f"  parsel and BeautifulSoup are left out: {done.stderr.strip().splitlines()[-1]}")
        return [{} for _ in bodies]
    found: list[dict[str, float]] = json.loads(done.stdout)
    return found


def verdict(is_met: bool, what: str) -> bool:
    print(f"    {'met   ' if is_met else 'MISSED'}  {what}")
    return is_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", default=str(PEERS), help="a Python with parsel and BeautifulSoup")
    asked = parser.parse_args()
    # As in every Scoter process that parses; the bare loop benefits, too.
    keep_memory()
    collect_less()
    bodies = [[page(kind.size, kind.links, number) for number in range(PAGES)] for kind in KINDS]
    theirs = peers(asked.peers, bodies)
    is_met = True
    for kind, pages, other in zip(KINDS, bodies, theirs, strict=True):
        contents = [
            Content(url=canonical(f"http://a.example/{number}.html"), media_type="text/html", body=body)
            for number, body in enumerate(pages)
        ]
        ours = Ours()
        best = measured(
            {
                "bare selectolax: tree and hrefs": bare,
                "reading": ours.read,
                "reading, links kept, signature": ours.everything,
                "the pre-scan": lambda content: is_harmless(content.body),
                "reading with metadata": ours.metadata,
            },
            contents,
        )
        floor, everything = best["bare selectolax: tree and hrefs"], best["reading, links kept, signature"]
        print(f"  {len(pages[0]) // 1000} KB, {len(ours.read(contents[0]).outlinks)} links")
        for name, seconds in (best | other).items():
            print(f"    {name:<34}{seconds * 1e6:>9,.0f} µs{seconds / floor:>8.2f} x bare")
        is_met &= verdict(everything <= kind.most * floor, f"{everything / floor:.2f} x bare (at most {kind.most:.1f})")
        guard = best["the pre-scan"] / everything
        is_met &= verdict(guard <= CONTAINMENT, f"the pre-scan adds {guard:.0%} (at most {CONTAINMENT:.0%})")
        if kind is KINDS[-1]:
            added = best["reading with metadata"] - best["reading"]
            is_met &= verdict(added <= METADATA, f"metadata adds {added * 1e3:.2f} ms (at most {METADATA * 1e3:.0f})")
        for name, seconds in other.items():
            times = seconds / everything
            is_met &= verdict(times >= FASTER[name], f"{times:.1f} x faster than {name} (at least {FASTER[name]:.0f})")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
