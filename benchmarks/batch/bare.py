"""The least a crawler can do, in a bare loop over the libraries Scoter uses.

    python -m benchmarks.batch.bare OUTPUT_FILE SEED... [--robots] [--connect-to NAME:PORT:ADDRESS:PORT] [--http2 CA]

Download with libcurl, parse with Lexbor, find the links to the seeds' hosts, compute the digests that a WARC record and
the crawldb need (SHA-1 of body and block, MD5), compress and append. There are no queues, no politeness, no tables and
no recovery. Prints one line of JSON: the pages stored, and the CPU seconds of each step.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from io import BytesIO
from pathlib import Path

import ada_url
import pycurl
from isal import igzip_lib
from selectolax.lexbor import LexborHTMLParser

from scoter.heap import collect_less, keep_memory

HANDLES = 32


class Links:
    """Resolves links, and remembers them: relative ones by folder."""

    def __init__(self, seeds: list[str]) -> None:
        self._origins = {origin(seed) for seed in seeds}
        self._known: dict[tuple[str, str], str] = {}

    def target(self, folder: str, href: str) -> str:
        """Return the URL that a link in a folder leads to, or an empty string if it is not to be crawled."""
        base = href if href.startswith(("http://", "https://")) else folder
        found = self._known.get((base, href))
        if found is None:
            found = self._known[base, href] = self._resolve(base, href)
        return found

    def _resolve(self, base: str, href: str) -> str:
        try:
            url = ada_url.join_url(base, href).partition("#")[0]
        except ValueError:
            return ""
        return url if origin(url) in self._origins else ""


def origin(url: str) -> str:
    """Return scheme, host and port."""
    return "/".join(url.split("/", 3)[:3])


class Bare:
    """A crawl of everything that the seeds lead to on their own hosts."""

    def __init__(self, output: Path, seeds: list[str], options: dict[int, object], *, robots: bool) -> None:
        self.pages = 0
        self.seconds = dict.fromkeys(("download", "parse", "links", "digests", "compress", "append"), 0.0)
        self._links = Links(seeds)
        self._seen = set(seeds)
        self._frontier = [f"{origin(seed)}/robots.txt" for seed in seeds] if robots else []
        self._frontier.extend(seeds)
        self._output = output.open("wb")
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, 2 * HANDLES)
        self._idle = [self._handle(options) for _ in range(HANDLES)]
        self._busy: dict[pycurl.Curl, tuple[str, BytesIO, BytesIO]] = {}

    def _handle(self, options: dict[int, object]) -> pycurl.Curl:
        handle = pycurl.Curl()
        handle.setopt(pycurl.NOSIGNAL, 1)
        handle.setopt(pycurl.USERAGENT, "bench")
        handle.setopt(pycurl.HTTPHEADER, ["Accept: text/html", "Accept-Encoding: gzip, deflate, br, zstd"])
        handle.setopt(pycurl.TIMEOUT, 300)
        for option, value in options.items():
            handle.setopt(option, value)
        return handle

    def run(self) -> None:
        """Crawl until the frontier is empty and no transfer is left."""
        clock, multi, idle = time.process_time, self._multi, self._idle
        while self._frontier or self._busy:
            began = clock()
            while idle and self._frontier:
                self._begin(idle.pop(), self._frontier.pop())
            multi.perform()
            _, done, failed = multi.info_read()
            if failed:
                raise SystemExit(f"{self._busy[failed[0][0]][0]}: {failed[0][2]}")
            if not done:
                multi.select(1.0)
            self.seconds["download"] += clock() - began
            for handle in done:
                multi.remove_handle(handle)
                idle.append(handle)
                url, head, body = self._busy.pop(handle)
                if not url.endswith("/robots.txt"):
                    self._store(url, head.getvalue(), body.getvalue())
        self._output.close()

    def _begin(self, handle: pycurl.Curl, url: str) -> None:
        head, body = BytesIO(), BytesIO()
        self._busy[handle] = url, head, body
        handle.setopt(pycurl.URL, url)
        handle.setopt(pycurl.HEADERFUNCTION, head.write)
        handle.setopt(pycurl.WRITEFUNCTION, body.write)
        self._multi.add_handle(handle)

    def _store(self, url: str, head: bytes, body: bytes) -> None:
        clock, seconds, seen, target = time.process_time, self.seconds, self._seen, self._links.target
        began = clock()
        tree = LexborHTMLParser(body)
        parsed = clock()
        folder = url[: url.rindex("/") + 1]
        for anchor in tree.tags("a"):
            found = target(folder, anchor.attrs.get("href") or "")
            if found and found not in seen:
                seen.add(found)
                self._frontier.append(found)
        linked = clock()
        block = head + body
        digests = hashlib.sha1(body).digest(), hashlib.sha1(block).digest(), hashlib.md5(body).digest()
        digested = clock()
        packed = igzip_lib.compress(b"".join((url.encode(), *digests, block)), 1, igzip_lib.COMP_GZIP)
        compressed = clock()
        self._output.write(packed)
        self.pages += 1
        seconds["parse"] += parsed - began
        seconds["links"] += linked - parsed
        seconds["digests"] += digested - linked
        seconds["compress"] += compressed - digested
        seconds["append"] += clock() - compressed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("seeds", nargs="+")
    parser.add_argument("--robots", action="store_true", help="first request robots.txt of every seed")
    parser.add_argument("--connect-to", help="a rule in libcurl's notation")
    parser.add_argument("--http2", help="offer HTTP/2 over TLS, and trust the certificates of this authority")
    asked = parser.parse_args()
    options: dict[int, object] = {}
    if asked.connect_to:
        options[pycurl.CONNECT_TO] = [asked.connect_to]
    if asked.http2:
        options |= {pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_2TLS, pycurl.CAINFO: asked.http2}
    # As in every Scoter process that parses: without it, the system takes memory back after each page.
    keep_memory()
    collect_less()
    crawl = Bare(asked.output, asked.seeds, options, robots=asked.robots)
    crawl.run()
    print(json.dumps({"pages": crawl.pages, "seconds": crawl.seconds}))


if __name__ == "__main__":
    main()
