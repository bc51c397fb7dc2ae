"""Checks of a crawl directory: its settings, tables, segments and index; of an object store, its conditional writes."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from scoter.batch.crawldir.crawldb import table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import Segment
from scoter.batch.graph.tables import GRAPHS, graph_tables
from scoter.cli.diagnosis.findings import Findings
from scoter.cli.diagnosis.installation import check_access, check_disk
from scoter.config import Config
from scoter.core.display import count
from scoter.errors import StoreConflict, UserError, typed
from scoter.index.damage import check_files, reading
from scoter.index.text_index import TextIndex, read_state
from scoter.store.objects.client import ABSENT, ObjectClient
from scoter.store.objects.path import StorePath
from scoter.store.tables import Table

_RESTORE: Final = "Restore it from a backup; docs/crawl-directory.md says what each file is for."
_REMOVE: Final = "Remove the segment, which loses its pages, or restore it from a backup."
_CONDITIONS: Final = (
    "Use a store with conditional writes (If-None-Match, If-Match), or never run two commands at a time."
)


def check_crawl(findings: Findings, directory: str, config: Config, *, is_thorough: bool) -> None:
    """Check a crawl; ``is_thorough`` also reads all its tables and its index, and compares checksums."""
    with findings.faults_of("crawl", _RESTORE):
        crawl = CrawlDir.open(directory)
        findings.ok("crawl", str(crawl.path))
        check_disk(findings, crawl.disk, config.store.disk_floor)
        if isinstance(crawl.path, StorePath):
            check_conditional_writes(findings, crawl.path.client, crawl.path.key)
        else:
            check_access(findings, crawl.path)
        _check_tables(findings, crawl, is_thorough=is_thorough)
        _check_segments(findings, crawl)
        if not isinstance(crawl.path, StorePath):
            _check_index(findings, crawl.path / "index", is_thorough=is_thorough)


def check_conditional_writes(findings: Findings, client: ObjectClient, folder: str) -> None:
    """Check that the store refuses to replace what another process has written; needs the right to write."""
    check, key = "object store", f"{folder}/doctor-{secrets.token_hex(8)}".lstrip("/")
    with findings.faults_of(check, "Check the address, the credentials and the rights to read, write and delete."):
        try:
            first = client.put(key, b"first", ABSENT)
            if not _conflicts(client, key, ABSENT):
                findings.fault(check, "it replaces objects that must only be created", _CONDITIONS)
            elif not client.has_conditions:
                findings.advise(check, "it creates objects only once, but cannot compare versions", _CONDITIONS)
            elif not _conflicts(client, key, _other(first)):
                findings.fault(check, "it replaces versions other than the one named", _CONDITIONS)
            else:
                findings.ok(check, "it can be read and written, and honours conditions")
        finally:
            with suppress(UserError):
                client.delete([key])


def _conflicts(client: ObjectClient, key: str, replaces: str) -> bool:
    try:
        client.put(key, secrets.token_bytes(8), replaces)
    except StoreConflict:
        return True
    return False


def _other(version: str) -> str:
    """Return a version like another one, but different: a store may refuse what does not look like one."""
    return version.translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))


def _check_tables(findings: Findings, crawl: CrawlDir, *, is_thorough: bool) -> None:
    rows: dict[str, int] = {}
    before = len(findings.all)
    graphs = {path: f"webgraph/{path.name}" for graph in GRAPHS for path in graph_tables(crawl, graph).paths}
    named = {crawl.crawldb: "crawldb", crawl.linkdb: "linkdb", crawl.hostdb: "hostdb", **graphs}
    for path, name in named.items():
        with findings.faults_of(f"table {name}", _RESTORE):
            if table_exists(path):
                with Table.open(path) as table:
                    if is_thorough:
                        table.verify()
                    rows[name] = table.manifest.rows
    if len(findings.all) == before:
        found = ", ".join(f"{name} {count(number, 'row')}" for name, number in rows.items()) or "none yet"
        findings.ok("tables", f"{found}{'; all checksums are right' if is_thorough and rows else ''}")


def _check_segments(findings: Findings, crawl: CrawlDir) -> None:
    before = len(findings.all)
    segments = crawl.all_segments()
    for segment in segments:
        with findings.faults_of(f"segment {segment.name}", _REMOVE):
            segment.info()
            for file in _parts(segment):
                try:
                    pq.read_metadata(file)
                except (pa.ArrowException, OSError) as failure:
                    raise UserError(f"the file is damaged: {failure}", where=str(file)) from None
    if len(findings.all) == before:
        findings.ok("segments", count(len(segments), "segment"))


def _parts(segment: Segment) -> Iterator[Path]:
    """Yield the finished parts of a segment on this machine."""
    if not isinstance(segment.path, StorePath):
        yield from sorted(segment.path.glob("[!.]*/*.parquet"))


def _check_index(findings: Findings, folder: Path, *, is_thorough: bool) -> None:
    rebuild = f"Build it again with: scoter index {typed(folder.parent)} --force"
    with findings.faults_of("index", rebuild):
        state = read_state(folder)
        if state is None:
            return
        with reading(folder):
            TextIndex.open(folder).index.searcher()
            check_files(folder / state.data, {} if is_thorough else state.files)
        findings.ok("index", "its files are complete")
