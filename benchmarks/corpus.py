"""A corpus of documentation next to the pipelines of datatrove and trafilatura, over the same archived pages.

    python -m benchmarks.main_text.gather --only documentation
    python -m benchmarks.corpus --datatrove build/datatrove/bin/python --trafilatura build/trafilatura/bin/python

Serves the gathered pages on loopback, one host per package, and crawls them. Then each pipeline makes texts from the
archive: ``scoter corpus`` with default settings and with the published thresholds, FineWeb's filters and MinHash in
datatrove (without its language model, which it would download), and trafilatura alone with its own removal of
duplicates. Boilerplate is what a host repeats: sequences of four words on at least a third of its pages.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, urlsplit

import pyarrow.parquet as pq
from selectolax.lexbor import LexborHTMLParser

from benchmarks.export import cost
from benchmarks.main_text.page_sets import Page, read

SCRIPT = Path(__file__).parent / "corpus_peers.py"
PEERS = ("datatrove", "trafilatura")
DOCS = Path(__file__).parents[1] / "docs" / "export.md"
REPEATED = 1 / 3
LEAST_PAGES = 5
"""Hosts with fewer pages are not measured for boilerplate."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("build/main_text/documentation.jsonl"))
    for peer in PEERS:
        parser.add_argument(f"--{peer}", type=Path, help=f"a Python with {peer}")
    parser.add_argument("--pages", type=int, default=0, help="at most so many pages; 0 for all")
    options = parser.parse_args()
    pages = {url_of(page): page for page in read(options.data)}
    pages = dict(list(pages.items())[: options.pages or None])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        crawl(pages, folder)
        repeated = boilerplate(pages)
        print(f"{'':<18}{'pages':>7}{'words':>12}{'boilerplate':>13}{'CPU s':>8}{'×':>6}")
        whole = sum(len(words_of(text_of(page.html))) for page in pages.values())
        print(f"{'all pages':<18}{len(pages):>7,}{whole:>12,}")
        first = 0.0
        for title, command, texts in pipelines(folder, {peer: getattr(options, peer) for peer in PEERS}):
            seconds, _ = cost(command)
            first = first or seconds
            found = list(texts())
            words = sum(len(words_of(text)) for _, text in found)
            share = covered(found, repeated)
            print(
                f"{title:<18}{len(found):>7,}{words:>12,}{share:>13.1%}{seconds:>8.1f}{seconds / first:>6.1f}",
                flush=True,
            )
    return 0


def url_of(page: Page) -> str:
    return f"http://{re.sub('[^a-z0-9-]', '-', page.host.lower())}.test/{quote(page.name)}"


def crawl(pages: Mapping[str, Page], folder: Path) -> None:
    """Crawl the pages over HTTP, and copy their archive to one file."""
    bodies = {url: page.html.encode() for url, page in pages.items()}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = bodies.get(f"http://{self.headers['Host']}{self.path}")
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            pass

    seeds, settings = folder / "seeds.txt", folder / "scoter.toml"
    seeds.write_text("\n".join(bodies), "utf-8")

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, address: object) -> None:
            """Say nothing when the crawler closes a connection."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings.write_text(
            '[agent]\nname = "benchmark"\n[fetch]\ndelay = "0s"\n'
            f'connect_to = ["*:80=127.0.0.1:{server.server_port}"]\n'
        )
        scoter("crawl", folder / "crawl", seeds, "--rounds", "1", "-c", settings)
        server.shutdown()
    scoter("export", folder / "crawl", folder / "warc", "--format", "warc", "--include-duplicates", "--include-noindex")


def scoter(*words: object) -> None:
    command = [sys.executable, "-m", "scoter.cli.main", *map(str, words), "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def pipelines(
    folder: Path, peers: Mapping[str, Path | None]
) -> Iterator[tuple[str, list[str], Callable[[], Iterator[tuple[str, str]]]]]:
    """Yield each pipeline: its title, its command, and what reads its texts."""
    published = folder / "published.toml"
    published.write_text("[corpus]" + DOCS.read_text("utf-8").partition("```toml\n[corpus]")[2].partition("```")[0])
    for title, more in (("scoter", []), ("scoter, published", ["-c", str(published)])):
        out = folder / title.replace(", ", "-")
        copy = folder / f"crawl of {out.name}"  # the first run keeps the main text that it makes
        shutil.copytree(folder / "crawl", copy)
        words = ["corpus", str(copy), str(out), "--sample", "0", "--quiet", *more]
        yield title, [sys.executable, "-m", "scoter.cli.main", *words], partial(corpus_texts, out)
    for peer, python in peers.items():
        if python is None:
            continue
        out = folder / peer
        command = [str(python), str(SCRIPT), peer, str(folder / "warc"), str(out)]
        yield peer, command, partial(peer_texts, out)


def corpus_texts(out: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(out.glob("data/*.parquet")):
        for row in pq.read_table(file, columns=["url", "text"]).to_pylist():
            yield row["url"], row["text"]


def peer_texts(out: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(out.rglob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line)
            yield row.get("metadata", row)["url"], row["text"]


def text_of(html: str) -> str:
    tree = LexborHTMLParser(html)
    for node in tree.css("script, style, template"):
        node.decompose()
    return tree.text(separator=" ")


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def sequences(words: list[str]) -> list[int]:
    return [hash(tuple(words[at : at + 4])) for at in range(len(words) - 3)]


def boilerplate(pages: Mapping[str, Page]) -> Mapping[str, set[int]]:
    """Return the sequences of words that each host repeats."""
    counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
    totals: Counter[str] = Counter()
    for url, page in pages.items():
        host = urlsplit(url).netloc
        totals[host] += 1
        counts[host].update(set(sequences(words_of(text_of(page.html)))))
    return {
        host: {each for each, number in counts[host].items() if number >= REPEATED * totals[host]}
        for host in counts
        if totals[host] >= LEAST_PAGES
    }


def covered(texts: list[tuple[str, str]], repeated: Mapping[str, set[int]]) -> float:
    """Return the share of words in repeated sequences."""
    inside = total = 0
    for url, text in texts:
        words = words_of(text)
        known = repeated.get(urlsplit(url).netloc)
        if known is None:
            continue
        marked = bytearray(len(words))
        for at, each in enumerate(sequences(words)):
            if each in known:
                marked[at : at + 4] = b"\x01\x01\x01\x01"
        inside, total = inside + sum(marked), total + len(words)
    return inside / max(total, 1)


if __name__ == "__main__":
    sys.exit(main())
