"""URLs per CPU second in the hottest pure code: join, canonical form, queue key, regex filter.

    python benchmarks/bench_urls.py

Exits with 1 if a target is missed. Two kinds of links are generated from a seed: *fresh* ones, nearly all of them new,
and those of a *site*, where most links of a page are the navigation that other pages have, too.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import urljoin

from scoter.core import url as urls
from scoter.core.filters import regex
from scoter.core.url import Url, canonical, join, queue_key

JOIN_TARGET = 60_000
FILTER_TARGET = 150_000
LINKS = 60_000
ROUNDS = 3

_WORDS: tuple[str, ...] = ("news", "article", "product", "img", "static", "user", "forum", "archive", "blog", "tag")
_WORDS += ("category", "item", "page", "list", "view", "print", "search", "help", "about")
_ENDINGS = ("", "", "", ".html", ".php", "/", ".jpg", ".gif", ".pdf")
_ZONES = ("com", "org", "de", "co.uk", "com.br", "jp")


def main() -> int:
    """Measure everything, print a table, and return whether the targets were met."""
    draw = random.Random(2026)
    print(f"{'what':<44}{'a CPU-second':>14}{'target':>10}{'peer':>12}  peer is")
    missed = 0
    for name, links in (("fresh", _fresh_links(draw)), ("site", _site_links(draw))):
        ours = _rate(partial(_join_all, links), links)
        peer = _rate(partial(_urljoin_all, links), links)
        missed += _tell(f"join + canonical + queue key, {name} links", ours, JOIN_TARGET, peer, "urljoin alone")
    rules, found = _rules(), [canonical(_address(draw)) for _ in range(LINKS)]
    keeps = regex.parse(rules, "benchmark").keeps
    ours = _rate(lambda: [keeps(each) for each in found], found)
    one_by_one = [(line[0] == "+", re.compile(line[1:]).search) for line in rules]
    some = found[: LINKS // 20]
    peer = _rate(lambda: [_first(one_by_one, each) for each in some], some)
    same = [keeps(each) for each in some] == [_first(one_by_one, each) for each in some]
    missed += _tell("regex filter, 100 rules", ours, FILTER_TARGET, peer, "re, rule by rule")
    if not same:
        print("the regex filter and its peer disagree", file=sys.stderr)
    return 1 if missed or not same else 0


def _tell(name: str, rate: float, target: int, peer: float, peer_name: str) -> int:
    print(f"{name:<44}{rate:>14,.0f}{target:>10,}{peer:>12,.0f}  {peer_name}{'' if rate >= target else '   MISSED'}")
    return 0 if rate >= target else 1


def _rate(work: Callable[[], object], items: Sequence[object]) -> float:
    """Return items per CPU second, the best of a few rounds: other programs can only make it slower."""
    best = 0.0
    for _ in range(ROUNDS):
        urls._join_in_folder.cache_clear()
        start = time.process_time()
        work()
        best = max(best, len(items) / (time.process_time() - start))
    return best


def _join_all(links: Sequence[tuple[Url, str]]) -> list[str]:
    return [queue_key(found) for base, href in links if (found := join(base, href)) is not None]


def _urljoin_all(links: Sequence[tuple[Url, str]]) -> list[str]:
    return [urljoin(base.text, href) for base, href in links]


def _first(rules: Sequence[tuple[bool, Callable[[str], object]]], url: Url) -> bool:
    for keep, search in rules:
        if search(url.text) is not None:
            return keep
    return False


def _host(draw: random.Random) -> str:
    return f"www.site{draw.randrange(2_000)}.{draw.choice(_ZONES)}"


def _target(draw: random.Random) -> str:
    path = "/".join(draw.choice(_WORDS) + str(draw.randrange(1_000)) for _ in range(draw.randint(1, 4)))
    query = "&".join(f"{draw.choice(_WORDS)}={draw.randrange(10_000)}" for _ in range(draw.randint(0, 3)))
    return f"/{path}{draw.choice(_ENDINGS)}{'?' + query if query and draw.random() < 0.5 else ''}"


def _address(draw: random.Random) -> str:
    return f"{draw.choice(('http', 'https'))}://{_host(draw)}{_target(draw)}"


def _href(draw: random.Random) -> str:
    kind = draw.random()
    if kind < 0.3:
        return _address(draw)
    return _target(draw) if kind < 0.7 else ("../" if kind > 0.9 else "") + _target(draw)[1:]


def _fresh_links(draw: random.Random) -> list[tuple[Url, str]]:
    return [(base, _href(draw)) for base in (canonical(_address(draw)) for _ in range(LINKS // 50)) for _ in range(50)]


def _site_links(draw: random.Random) -> list[tuple[Url, str]]:
    """Return twenty sites of sixty pages in a few folders; 35 of the 50 links on a page are the site's menu."""
    found = []
    for _ in range(LINKS // 3_000):
        host = _host(draw)
        menu = [_href(draw) for _ in range(35)]
        folders = [f"http://{host}/{word}/" for word in draw.sample(_WORDS, 4)]
        for page in range(60):
            base = canonical(f"{draw.choice(folders)}{page}.html")
            found += [(base, href) for href in (*menu, *(_href(draw) for _ in range(15)))]
    return found


def _rules() -> list[str]:
    """Return a hundred typical rules for types, traps, hosts, parameters and paths; everything else is kept."""
    rules = [
        r"-^(?:file|ftp|mailto):",
        r"-(?i)\.(?:gif|jpe?g|png|ico|css|eps|zip|ppt|mpg|xls|gz|rpm|tgz|mov|exe|bmp|js)$",
        r"-[*!@]",
        r"-(?i)[?&](?:jsessionid|phpsessid|sid)=",
    ]
    rules += [rf"-^https?://(?:[a-z0-9-]+\.)*site{number}\.(?:com|org)/" for number in range(0, 90, 3)]
    rules += [rf"-[?&](?:{word}|{word}_id)=[0-9]{{5,}}" for word in _WORDS]
    rules += [rf"-/{word}[0-9]+/{word}[0-9]+/(?:print|login)" for word in _WORDS]
    rules += [rf"-^https?://www\.site{number}\.(?:de|jp)/(?:print|login)" for number in range(99 - len(rules))]
    return [*rules, "+."]


if __name__ == "__main__":
    sys.exit(main())
