"""Scrapy crawling the same site: obey robots.txt, follow links, store bodies.

    python scrapy_spider.py SEED...

Runs in an environment that has Scrapy and nothing of Scoter, so it must not import anything from this project. Prints
one line of JSON with the number of distinct pages and of downloads.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import scrapy  # type: ignore[import-not-found]
from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]
from scrapy.linkextractors import LinkExtractor  # type: ignore[import-not-found]

CONCURRENT = 50
PER_HOST = 8


class StoringSpider(scrapy.Spider):  # type: ignore[misc]
    """Follow every link to a known host and store every page."""

    name = "site"

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        (self.folder / f"{self.stored}.html").write_bytes(response.body)
        type(self).stored += 1
        self.known.add(response.url)
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url, callback=self.parse)

    def closed(self, reason: str) -> None:
        print(json.dumps({"pages": len(self.known), "downloads": self.stored}), flush=True)


def main(seeds: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        StoringSpider.folder = Path(folder)
        StoringSpider.stored = 0
        StoringSpider.known = set()
        StoringSpider.start_urls = seeds
        StoringSpider.links = LinkExtractor(allow_domains=[urlsplit(seed).netloc for seed in seeds])
        process = CrawlerProcess(
            {
                "ROBOTSTXT_OBEY": True,
                "CONCURRENT_REQUESTS": CONCURRENT,
                "CONCURRENT_REQUESTS_PER_DOMAIN": PER_HOST,
                "DOWNLOAD_DELAY": 0,
                "COOKIES_ENABLED": False,
                "TELNETCONSOLE_ENABLED": False,
                "LOG_LEVEL": "ERROR",
                "USER_AGENT": "bench",
            }
        )
        process.crawl(StoringSpider)
        process.start()


if __name__ == "__main__":
    main(sys.argv[1:])
