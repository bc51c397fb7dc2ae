"""Scrapy crawling the same site: robots.txt obeyed, links followed, bodies stored.

    python theirs.py PORT

It runs in an environment of its own, which has Scrapy and nothing of ours; so it must not import anything of this
project. One line of JSON tells how many pages it stored.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import scrapy  # type: ignore[import-not-found]
from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]
from scrapy.linkextractors import LinkExtractor  # type: ignore[import-not-found]

CONCURRENT = 50


class Site(scrapy.Spider):  # type: ignore[misc]
    """Follows every link and stores every page."""

    name = "site"
    links = LinkExtractor()

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        (self.folder / f"{self.done}.html").write_bytes(response.body)
        type(self).done += 1
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url, callback=self.parse)

    def closed(self, reason: str) -> None:
        print(json.dumps({"pages": self.done}), flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Site.folder = Path(folder)
        Site.done = 0
        Site.start_urls = [f"http://127.0.1.1:{sys.argv[1]}/0.html"]
        process = CrawlerProcess(
            {
                "ROBOTSTXT_OBEY": True,
                "CONCURRENT_REQUESTS": CONCURRENT,
                "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
                "DOWNLOAD_DELAY": 0,
                "COOKIES_ENABLED": False,
                "TELNETCONSOLE_ENABLED": False,
                "LOG_LEVEL": "ERROR",
                "USER_AGENT": "bench",
            }
        )
        process.crawl(Site)
        process.start()


if __name__ == "__main__":
    main()
