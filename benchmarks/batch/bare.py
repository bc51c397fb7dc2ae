"""The least a crawler can do, in a bare loop over the libraries Scoter uses.

    python -m benchmarks.batch.bare OUTPUT_FILE SEED...

Download with libcurl, parse with Lexbor, resolve and deduplicate the links, compute the digests that a WARC record and
the crawldb need (SHA-1 of body and block, MD5), compress and write. There are no queues, no politeness, no robots.txt,
no tables and no recovery. Prints one line of JSON: the pages stored, and the CPU seconds of each step.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import deque
from pathlib import Path

import ada_url
import pycurl
from isal import igzip_lib
from selectolax.lexbor import LexborHTMLParser

CONCURRENT = 50


class Bare:
    """A crawl of everything that the seeds lead to on their own hosts."""

    def __init__(self, output: Path, seeds: list[str]) -> None:
        self.pages = 0
        self.seconds = dict.fromkeys(("download", "parse", "links", "digests", "compress", "write"), 0.0)
        self._hosts = {ada_url.URL(seed).host for seed in seeds}
        self._seen = set(seeds)
        self._frontier = deque(seeds)
        self._output = output.open("wb")
        self._bodies: dict[pycurl.Curl, list[bytes]] = {}
        self._heads: dict[pycurl.Curl, list[bytes]] = {}
        self._urls: dict[pycurl.Curl, str] = {}
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, 2 * CONCURRENT)
        self._idle = [self._new_handle() for _ in range(CONCURRENT)]

    def run(self) -> None:
        """Crawl until the frontier is empty and no transfer is left."""
        active = 0
        clock = time.process_time
        while True:
            began = clock()
            while self._idle and self._frontier:
                self._begin(self._idle.pop(), self._frontier.popleft())
                active += 1
            if not active:
                break
            self._multi.perform()
            _, done, failed = self._multi.info_read()
            if failed:
                raise SystemExit(f"{self._urls[failed[0][0]]}: {failed[0][2]}")
            if not done:
                self._multi.select(1.0)
            self.seconds["download"] += clock() - began
            for handle in done:
                active -= 1
                self._store(handle)
        self._output.close()

    def _new_handle(self) -> pycurl.Curl:
        handle = pycurl.Curl()
        handle.setopt(pycurl.NOSIGNAL, 1)
        handle.setopt(pycurl.USERAGENT, "bench")
        handle.setopt(pycurl.HTTPHEADER, ["Accept: text/html", "Accept-Encoding: gzip, deflate, br, zstd"])
        handle.setopt(pycurl.TIMEOUT, 300)
        return handle

    def _begin(self, handle: pycurl.Curl, url: str) -> None:
        self._urls[handle], self._heads[handle], self._bodies[handle] = url, [], []
        handle.setopt(pycurl.URL, url)
        handle.setopt(pycurl.HEADERFUNCTION, self._heads[handle].append)
        handle.setopt(pycurl.WRITEFUNCTION, self._bodies[handle].append)
        self._multi.add_handle(handle)

    def _store(self, handle: pycurl.Curl) -> None:
        clock, seconds = time.process_time, self.seconds
        self._multi.remove_handle(handle)
        self._idle.append(handle)
        url, head, body = self._urls[handle], b"".join(self._heads[handle]), b"".join(self._bodies[handle])
        began = clock()
        tree = LexborHTMLParser(body)
        parsed = clock()
        for anchor in tree.css("a[href]"):
            target = ada_url.URL(anchor.attributes["href"] or "", url)
            target.hash = ""
            if target.href not in self._seen and target.host in self._hosts:
                self._seen.add(target.href)
                self._frontier.append(target.href)
        linked = clock()
        block = head + body
        digests = hashlib.sha1(body).digest(), hashlib.sha1(block).digest(), hashlib.md5(body).digest()
        digested = clock()
        packed = igzip_lib.compress(b"".join((url.encode(), *digests, block)), 1, igzip_lib.COMP_GZIP)
        compressed = clock()
        self._output.write(packed)
        written = clock()
        self.pages += 1
        seconds["parse"] += parsed - began
        seconds["links"] += linked - parsed
        seconds["digests"] += digested - linked
        seconds["compress"] += compressed - digested
        seconds["write"] += written - compressed


if __name__ == "__main__":
    crawl = Bare(Path(sys.argv[1]), sys.argv[2:])
    crawl.run()
    print(json.dumps({"pages": crawl.pages, "seconds": crawl.seconds}))
