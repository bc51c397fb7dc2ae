"""The state of a crawl directory, read without the code of the jobs, to compare crawls and watch a running one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha1
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import tantivy
from msgspec import Struct

from scoter.errors import ScoterError, UsageError
from scoter.index.text_index import TextIndex
from scoter.store.tables import Table
from scoter.store.warc import WarcReader

_SCORE_TOLERANCE = 1e-9
TABLES = ("crawldb", "linkdb", "hostdb")


class CrawlState(Struct, frozen=True, kw_only=True):
    """The contents of a finished crawl."""

    statuses: dict[str, str]
    scores: dict[str, float]
    signatures: dict[str, bytes | None]
    inlinks: dict[str, frozenset[tuple[str, str]]]
    digests: dict[str, str]
    """Digests of the fetched bodies, read from the archive."""
    documents: dict[str, str]
    """Digests of the texts and titles in the search index."""
    hosts: dict[str, tuple[int, ...]]
    """The URLs, requests and bytes of each host."""


def state_of(crawl: Path) -> CrawlState:
    """Read a crawl; raise if some of it cannot be read."""
    records = list(_table(crawl / "crawldb"))
    linked = _table(crawl / "linkdb")
    return CrawlState(
        statuses={row["url"]: row["status"] for row in records},
        scores={row["url"]: row["score"] for row in records},
        signatures={row["url"]: row["signature"] for row in records},
        inlinks={row["url"]: frozenset((each["url"], each["anchor"]) for each in row["inlinks"]) for row in linked},
        digests=dict(_digests(crawl)),
        documents=documents_of(crawl / "index"),
        hosts={
            row["url"]: (row["urls"], row["unfetched"], row["gone"], row["fetches"], row["bytes"])
            for row in _table(crawl / "hostdb")
        },
    )


def differences(got: CrawlState, wanted: CrawlState) -> list[str]:
    """Return how two crawls of one web differ."""
    found = [
        f"{name}: {len(wrong)} URLs differ, for example {wrong[0]}: {_shown(ours.get(wrong[0]), theirs.get(wrong[0]))}"
        for name, ours, theirs in _aspects(got, wanted)
        if (wrong := sorted(url for url in ours.keys() | theirs.keys() if ours.get(url) != theirs.get(url)))
    ]
    scores = [
        url
        for url in got.scores.keys() & wanted.scores.keys()
        if abs(got.scores[url] - wanted.scores[url]) > _SCORE_TOLERANCE * max(1.0, wanted.scores[url])
    ]
    if scores:
        found.append(f"scores: {len(scores)} differ, for example that of {min(scores)}: was a segment applied twice?")
    return found


def leftovers(crawl: Path) -> list[str]:
    """Return files that should not exist after a crawl."""
    strays = [
        *sorted((crawl / "index").glob("[0-9]*"))[:-1],
        *(crawl / "tmp").glob("*"),
        *(crawl / "segments").glob(".*"),
        *(crawl / "segments").glob("*/tmp/*"),
    ]
    for segment in (crawl / "segments").iterdir():
        whole = {path.stem for path in (segment / "crawl_fetch").glob("*.parquet")}
        tables = chain(*((segment / name).glob("*") for name in ("parse_data", "parse_text", "crawl_parse")))
        strays += [path for path in tables if path.suffix != ".parquet" or path.stem not in whole]
        strays += [
            path
            for path in (segment / "content").glob("*")
            if path.name.partition(".")[0].removeprefix(f"{segment.name}-") not in whole
        ]
    return [f"left over: {path.relative_to(crawl)}" for path in strays]


class Watcher:
    """Reads a crawl's tables and finished parts continuously, and records when each part was first seen."""

    def __init__(self, crawl: Path, requests: Callable[[], int]) -> None:
        """``requests`` returns the number of requests to the web so far."""
        self.problems: list[str] = []
        self.looks = 0
        self._crawl = crawl
        self._requests = requests
        self._parts: dict[Path, tuple[int, frozenset[str]]] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._end.set()
        self._thread.join()
        self._look()

    def fetched_again(self, requested: Callable[[int], Iterator[str]]) -> list[str]:
        """Return URLs that were requested after their part was finished."""
        found = []
        for path, (seen, urls) in self._parts.items():
            if not path.exists():
                found.append(f"the finished part {path.relative_to(self._crawl)} has disappeared")
            again = sorted(set(requested(seen)) & urls)
            if again:
                found.append(f"{len(again)} URLs of {path.name} were fetched again, for example {again[0]}")
        return found

    def _watch(self) -> None:
        while not self._end.wait(0.1):
            self._look()

    def _look(self) -> None:
        self.looks += 1
        for name in TABLES:
            if not (self._crawl / name / "CURRENT").exists():
                continue
            try:
                with Table.open(self._crawl / name) as table:
                    table.verify()
            except ScoterError as failure:
                self._report(f"{name}: {failure}")
        for path in self._crawl.glob("segments/2*/crawl_fetch/*.parquet"):
            if path not in self._parts:
                self._remember(path)

    def _remember(self, path: Path) -> None:
        try:
            urls = frozenset(pq.read_table(path, columns=["url"]).column("url").to_pylist())
            for row in pq.read_table(path, columns=["warc_file"]).to_pylist():
                if row["warc_file"] and not (path.parents[1] / "content" / row["warc_file"]).exists():
                    raise UsageError(f"its archive {row['warc_file']} is missing")
            for name in ("parse_data", "parse_text", "crawl_parse"):
                pq.read_metadata(path.parents[1] / name / path.name)
        except Exception as failure:
            self._report(f"{path.relative_to(self._crawl)}: {failure!r}")
            return
        self._parts[path] = (self._requests(), urls)

    def _report(self, text: str) -> None:
        if len(self.problems) < 20:
            self.problems.append(text)


def _aspects(got: CrawlState, wanted: CrawlState) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    yield "statuses", _alike(got, wanted), wanted.statuses
    yield "signatures", got.signatures, wanted.signatures
    yield "contents", got.digests, wanted.digests
    yield "inlinks", got.inlinks, wanted.inlinks
    yield "hosts", got.hosts, wanted.hosts
    yield "documents", _alike_documents(got, wanted), wanted.documents


def _alike(got: CrawlState, wanted: CrawlState) -> dict[str, str]:
    """Return our statuses, ignoring which pages of a duplicate group were marked if their number is right.

    Of pages with the same content and score, the one fetched last is kept, and that depends on the network.
    """
    ours, theirs = _groups(got), _groups(wanted)
    return {
        url: wanted.statuses.get(url, status)
        if {status, wanted.statuses.get(url)} == {"fetched", "duplicate"}
        and ours[got.signatures[url], round(got.scores[url], 9)]
        == theirs[wanted.signatures[url], round(wanted.scores[url], 9)]
        else status
        for url, status in got.statuses.items()
    }


def _alike_documents(got: CrawlState, wanted: CrawlState) -> dict[str, str]:
    """Return our documents, with those of duplicates where the other crawl keeps another page of a group."""
    kept = {url for url, status in got.statuses.items() if status == "fetched" != wanted.statuses.get(url)}
    lost = {url for url, status in got.statuses.items() if status == "duplicate" != wanted.statuses.get(url)}
    ours = {url: digest for url, digest in got.documents.items() if url not in kept}
    return {**ours, **{url: wanted.documents[url] for url in lost & wanted.documents.keys()}}


def documents_of(folder: Path) -> dict[str, str]:
    """Return the documents of an index by id; raise if one is there twice."""
    index = TextIndex.open(folder)
    searcher = index.index.searcher()
    found: dict[str, str] = {}
    for _, address in searcher.search(tantivy.Query.all_query(), limit=max(1, searcher.num_docs)).hits:
        stored = searcher.doc(address)
        name, shown = stored.get_first("id"), index.shown_of(stored)
        if name in found:
            raise AssertionError(f"the index has {name} twice")
        about = "\n".join((shown.title, shown.description, shown.lang, shown.type, index.text_of(stored)))
        found[name] = sha1(about.encode()).hexdigest()
    return found


def _groups(state: CrawlState) -> Counter[tuple[bytes | None, float]]:
    return Counter(
        (state.signatures[url], round(state.scores[url], 9))
        for url, status in state.statuses.items()
        if status == "duplicate"
    )


def _digests(crawl: Path) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for path in sorted(crawl.glob("segments/2*/crawl_fetch/*.parquet")):
        for row in pq.read_table(path).to_pylist():
            if row["url"] in seen:
                raise AssertionError(f"{row['url']} was fetched twice, again in {path}")
            seen.add(row["url"])
            if row["status"] != "success":
                continue
            with WarcReader(path.parents[1] / "content" / row["warc_file"]) as archive:
                page = archive.at(row["warc_offset"])
            if page.url != row["url"] or len(page.body) != row["length"]:
                raise AssertionError(f"at {row['warc_offset']} of {row['warc_file']} is not {row['url']}")
            yield row["url"], sha1(page.body).hexdigest()


def _table(path: Path) -> Iterator[Any]:
    with Table.open(path) as table:
        table.verify()
        for batch in table.scan():
            yield from batch.to_pylist()


def _shown(ours: Any, theirs: Any) -> str:
    return f"{str(ours)[:100]} instead of {str(theirs)[:100]}"
