"""Parsing HTML: CPU microseconds a page of 25 and 125 KB, beside bare selectolax and the standard library's parser.

"Bare" is the least that finds links: Lexbor's tree, one CSS selection, the attributes. Ours adds encoding, title, text,
anchors, robots, joined and canonical targets; then the pre-scan for hostile pages, and which links are kept.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from html.parser import HTMLParser

from selectolax.lexbor import LexborHTMLParser

from scoter.config import load
from scoter.core.page import Content, Page
from scoter.core.url import canonical
from scoter.parse import LinkRules
from scoter.parse.html import HtmlReader
from scoter.parse.prescan import harmless

PAGES = 20
ROUNDS = 25
KINDS = ((25_000, 55, 3.0), (125_000, 250, 3.0))
"""Bytes, links, and how many times bare selectolax's time reading may take."""
CONTAINMENT = 0.15


def page(size: int, links: int, number: int) -> bytes:
    """Write a page with a menu, and paragraphs of many words with a link each."""
    chance = random.Random(number)
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(2, 9))) for _ in range(3_000)]
    menu = "".join(f'\n  <li class="item"><a class="nav" href="/section/{n}/">{words[n]}</a></li>' for n in range(12))
    head = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Page {number}</title>'
        '<meta name="description" content="words"><link rel="stylesheet" href="/static/site.css">'
        f'<link rel="canonical" href="/{number}.html"><script>var a = "<p>";</script></head>'
        f"<body>\n<header><nav><ul>{menu}\n</ul></nav></header>\n<main><article>"
    )
    parts = [head]
    share = (size - len(head)) // (links - 12)
    for _ in range(links - 12):
        count = max(share - 190, 60) // 13
        parts.append(
            f'\n<div class="row"><div class="text"><h3>{" ".join(chance.choices(words, k=3))}</h3>\n'
            f'<p>{" ".join(chance.choices(words, k=count))} <a href="/{chance.randrange(200)}.html" class="link">'
            f"{chance.choice(words)} {chance.choice(words)}</a>, {' '.join(chance.choices(words, k=count))} "
            f"<b>{chance.choice(words)}</b>.</p></div></div>"
        )
    parts.append("</article></main>\n<footer><p>Words</p></footer></body></html>")
    return "".join(parts).encode()


class Plain(HTMLParser):
    """Links and text by the standard library."""

    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def bare(content: Content) -> object:
    return [node.attributes.get("href") for node in LexborHTMLParser(content.body).css("a[href]")]


def plain(content: Content) -> object:
    parser = Plain()
    parser.feed(content.body.decode())
    return parser.hrefs


def measured(work: dict[str, Callable[[int], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the best CPU seconds a page of each; they take turns, so that a busy machine is unfair to none."""
    best = dict.fromkeys(work, 9.0)
    for _ in range(rounds):
        for name, do in work.items():
            start = time.process_time()
            for number in range(PAGES):
                do(number)
            best[name] = min(best[name], (time.process_time() - start) / PAGES)
    return best


def main() -> int:
    missed = False
    for size, links, most in KINDS:
        contents = [
            Content(
                url=canonical(f"http://a.example/{number}.html"), media_type="text/html", body=page(size, links, number)
            )
            for number in range(PAGES)
        ]
        reader, rules = HtmlReader(), LinkRules(load())
        pages: list[Page] = [reader.read(content) for content in contents]
        best = measured(
            {
                "bare selectolax: tree and hrefs": lambda n, given=contents: bare(given[n]),  # type: ignore[misc]
                "read": lambda n, given=contents, reader=reader: reader.read(given[n]),  # type: ignore[misc]
                "pre-scan": lambda n, given=contents: harmless(given[n].body),  # type: ignore[misc]
                "links kept": lambda n, given=pages, rules=rules: rules.keep(given[n]),  # type: ignore[misc]
            }
        )
        best |= measured({"html.parser: hrefs and text": lambda n, given=contents: plain(given[n])}, 3)  # type: ignore[misc]
        floor, read = best["bare selectolax: tree and hrefs"], best["read"]
        guard = best["pre-scan"] / (read + best["links kept"])
        print(f"  {len(contents[0].body) // 1000} KB, {len(pages[0].outlinks)} links")
        for name, seconds in best.items():
            print(f"    {name:<34}{seconds * 1e6:>9,.0f} µs{seconds / floor:>8.2f} x bare")
        print(f"    reading: target {most:.1f} x bare; pre-scan: {guard:.0%} of the rest, target {CONTAINMENT:.0%}")
        missed |= read > most * floor or guard > CONTAINMENT
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
