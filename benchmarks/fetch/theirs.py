"""The same with Scrapy: robots.txt obeyed, one request at a time per host, bodies stored.

    python theirs.py PORT PAGES HOSTS

Runs in an environment that has Scrapy and nothing of Scoter, so it must not import anything from this project. Prints
one line of JSON with the cost, without start-up.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import scrapy  # type: ignore[import-not-found]
from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]

FILES = 200
CONCURRENT = 50


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Pages(scrapy.Spider):  # type: ignore[misc]
    """Requests pages from many hosts, and stores each body."""

    name = "pages"

    async def start(self) -> AsyncIterator[Any]:
        port, pages, hosts = self.given
        self.done = 0
        self.began, self.used = time.monotonic(), cpu_seconds()
        for number in range(pages):
            url = f"http://127.0.0.{1 + number % hosts}:{port}/{number % FILES}.html?{number}"
            yield scrapy.Request(url, callback=self.parse, dont_filter=True)

    def parse(self, response: Any, **kwargs: Any) -> None:
        (self.folder / f"{self.done}.html").write_bytes(response.body)
        self.done += 1

    def closed(self, reason: str) -> None:
        used, wall = cpu_seconds() - self.used, time.monotonic() - self.began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"pages": self.done, "cpu": used, "wall": wall, "peak_mib": peak}), flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Pages.given = tuple(map(int, sys.argv[1:4]))
        Pages.folder = Path(folder)
        process = CrawlerProcess(
            {
                "ROBOTSTXT_OBEY": True,
                "CONCURRENT_REQUESTS": CONCURRENT,
                "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
                "DOWNLOAD_DELAY": 0,
                "COOKIES_ENABLED": False,
                "TELNETCONSOLE_ENABLED": False,
                "LOG_LEVEL": "ERROR",
                "USER_AGENT": "bench",
            }
        )
        process.crawl(Pages)
        process.start()


if __name__ == "__main__":
    main()
