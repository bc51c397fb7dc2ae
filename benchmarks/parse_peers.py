"""Extract the same fields from the same pages with parsel and with BeautifulSoup on lxml.

    python parse_peers.py < pages.json

Runs in an environment that has the peers and nothing of Scoter, so it must not import anything from this project. Reads
a list of lists of pages, and prints the best CPU seconds per page of each peer for each list.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from urllib.parse import urljoin

from bs4 import BeautifulSoup  # type: ignore[import-not-found]
from parsel import Selector  # type: ignore[import-not-found]

ROUNDS = 3


def by_parsel(body: bytes, url: str) -> object:
    page = Selector(body=body, encoding="utf-8")
    base = urljoin(url, page.css("base::attr(href)").get(""))
    links = [
        (
            urljoin(base, link.attrib["href"]),
            " ".join("".join(link.css("::text").getall()).split()),
            link.attrib.get("rel"),
        )
        for link in page.css("a[href], area[href], link[href]")
    ]
    links += [(urljoin(base, node.attrib["src"]), node.attrib.get("alt"), "") for node in page.css("[src]")]
    text = page.xpath("//body//text()[not(ancestor::script or ancestor::style or ancestor::noscript)]").getall()
    return (
        " ".join(page.css("title::text").get("").split()),
        "\n".join(filter(None, (" ".join(each.split()) for each in text))),
        links,
        page.css("meta[name=robots]::attr(content)").getall(),
        hashlib.md5(body).digest(),
    )


def by_soup(body: bytes, url: str) -> object:
    page = BeautifulSoup(body, "lxml", from_encoding="utf-8")
    based = page.find("base", href=True)
    base = urljoin(url, based["href"]) if based else url
    links = [
        (urljoin(base, link["href"]), link.get_text(" ", strip=True), link.get("rel"))
        for link in page.find_all(["a", "area", "link"], href=True)
    ]
    links += [(urljoin(base, node["src"]), node.get("alt"), "") for node in page.find_all(src=True)]
    robots = [meta.get("content") for meta in page.find_all("meta", attrs={"name": "robots"})]
    title = page.title.get_text(" ", strip=True) if page.title else ""
    for node in page.find_all(["script", "style", "noscript"]):
        node.decompose()
    return title, page.body.get_text("\n", strip=True), links, robots, hashlib.md5(body).digest()


def best(read: Callable[[bytes, str], object], pages: list[bytes]) -> float:
    """Return the CPU seconds per page, using the best time of every page."""
    seconds = [9.0] * len(pages)
    for _ in range(ROUNDS):
        for number, body in enumerate(pages):
            start = time.process_time()
            read(body, f"http://a.example/{number}.html")
            seconds[number] = min(seconds[number], time.process_time() - start)
    return sum(seconds) / len(seconds)


def main() -> None:
    kinds = [[page.encode() for page in pages] for pages in json.load(sys.stdin)]
    peers = {"parsel": by_parsel, "BeautifulSoup on lxml": by_soup}
    json.dump([{name: best(read, pages) for name, read in peers.items()} for pages in kinds], sys.stdout)


if __name__ == "__main__":
    main()
