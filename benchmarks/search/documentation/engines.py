"""Search engines over the same pages: from a query to the paths of the first results."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import tantivy

from scoter import Searcher
from scoter.core.page import Content, Page
from scoter.core.url import canonical
from scoter.parse.html import HtmlReader

DEPTH: Final = 5
Answers = Mapping[str, Sequence[str]]
"""The paths of the first results by query."""

Engine = Callable[[Path, Path, Sequence[str]], Answers]
"""Called with a folder of pages, a folder for files of its own, and the queries."""


def scoter(site: Path, work: Path, asked: Sequence[str]) -> Answers:
    """Return what Scoter answers after a crawl with default settings, apart from those for local files."""
    crawl = work / "crawl"
    if not (crawl / "index/scoter.json").exists():
        shutil.rmtree(crawl, ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
        seeds = work / "seeds.txt"
        seeds.write_text("".join(f"{file.as_uri()}\n" for file in sorted(site.rglob("*.html"))))
        settings = ('fetch.protocols=["file"]', "fetch.delay=0s", "urlfilter.filters=[]")
        options = [word for setting in settings for word in ("-D", setting)]
        command = [sys.executable, "-m", "scoter", "crawl", str(crawl), str(seeds), "--rounds", "1", "--agent", "bench"]
        subprocess.run([*command, "--index", "--quiet", *options], check=True, stdout=subprocess.DEVNULL)
    searcher = Searcher.of_crawl(crawl)
    return {query: [_path(hit.url, site) for hit in searcher.search(query, limit=DEPTH).hits] for query in asked}


def fts5(site: Path, work: Path, asked: Sequence[str]) -> Answers:
    """Return what SQLite FTS5 answers: pages with all words, else with any, by BM25 with weights for its columns."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE page USING fts5(path UNINDEXED, title, text, heading, tokenize='porter')")
    for path, page in _pages(site):
        row = (path, page.title, page.text, "\n".join(heading.text for heading in page.headings))
        database.execute("INSERT INTO page VALUES (?, ?, ?, ?)", row)

    def results(asked: str) -> list[str]:
        order = "ORDER BY bm25(page, 0.0, 2.5, 1.0, 1.5) LIMIT ?"
        rows = database.execute(f"SELECT path FROM page WHERE page MATCH ? {order}", (asked, DEPTH))
        return [path for (path,) in rows]

    found = {}
    for query in asked:
        words = [f'"{word}"' for word in re.findall(r"\w+", query)]
        found[query] = results(" ".join(words)) or results(" OR ".join(words))
    return found


def plain_tantivy(site: Path, work: Path, asked: Sequence[str]) -> Answers:
    """Return what tantivy answers with its own query parser: pages with all words, else with any."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("path", stored=True, tokenizer_name="raw")
    for name in ("title", "text"):
        builder.add_text_field(name, tokenizer_name="en_stem")
    index = tantivy.Index(builder.build())
    writer = index.writer(heap_size=64_000_000, num_threads=1)
    for path, page in _pages(site):
        writer.add_document(tantivy.Document(path=path, title=page.title, text=page.text))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def results(query: str, conjunction: bool) -> list[str]:
        words = " ".join(re.findall(r"\w+", query))
        parsed = index.parse_query(words, ["title", "text"], {"title": 2.5}, conjunction_by_default=conjunction)
        return [
            str(searcher.doc(address).get_first("path")) for _, address in searcher.search(parsed, limit=DEPTH).hits
        ]

    return {query: results(query, True) or results(query, False) for query in asked}


def pagefind(site: Path, work: Path, asked: Sequence[str]) -> Answers:
    """Return what pagefind answers with its defaults."""
    modules = work.parent / "pagefind"
    if not (modules / "node_modules/pagefind").exists():
        modules.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-save", "pagefind@1"], cwd=modules, check=True)
    bundle = work / "pagefind"
    if not bundle.exists():
        program = modules / "node_modules/.bin/pagefind"
        command = [str(program), "--site", str(site), "--output-path", str(bundle), "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    script = Path(__file__).with_name("pagefind.mjs")
    order = json.dumps({"bundle": str(bundle), "queries": asked, "depth": DEPTH})
    found = subprocess.run(["node", str(script)], input=order, capture_output=True, text=True, check=True)
    answers: Any = json.loads(found.stdout)
    return {
        query: [re.sub("(^|/)$", r"\1index.html", path.lstrip("/")) for path in paths]
        for query, paths in answers.items()
    }


ENGINES: Final[Mapping[str, Engine]] = {
    "Scoter": scoter,
    "pagefind": pagefind,
    "SQLite FTS5": fts5,
    "tantivy alone": plain_tantivy,
}


def _pages(site: Path) -> Iterator[tuple[str, Page]]:
    """Yield the pages as Scoter reads them."""
    reader = HtmlReader()
    for file in sorted(site.rglob("*.html")):
        content = Content(url=canonical(file.as_uri()), media_type="text/html", body=file.read_bytes())
        yield file.relative_to(site).as_posix(), reader.read(content)


def _path(url: str, site: Path) -> str:
    return unquote(url).removeprefix(f"{site.as_uri()}/")
