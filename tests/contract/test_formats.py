"""Data of a newer version of Scoter: every stored format says so, whatever else has changed in it."""

from __future__ import annotations

import ast
import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.store.tables.stores import make_store

import scoter
from scoter.batch.crawldir import directory
from scoter.batch.crawldir.directory import CrawlDir
from scoter.errors import MadeByNewer
from scoter.index import text_index
from scoter.live.kafka import cassandra, messages
from scoter.live.kafka.cassandra import TableSchema
from scoter.live.kafka.messages import MessageFormat, UnreadableMessage
from scoter.live.service.roles import sessions
from scoter.live.sqlite import schema
from scoter.live.sqlite.database import DatabaseReader, ServiceDb
from scoter.store.host_holds import SqliteHostHolds
from scoter.store.robots_cache import SqliteRobotsCache
from scoter.store.tables import versions

NEWER = {"format": 99, "created": ["no", "longer", "a", "time"]}
MESSAGES = {
    f"message: {name}": (each, messages.FORMAT)
    for module in (messages, sessions)
    for name, each in vars(module).items()
    if isinstance(each, MessageFormat)
}
Opened = Callable[[Path], object]


def newer_crawl(folder: Path) -> tuple[Path, Opened]:
    CrawlDir.create(folder / "crawl", datetime(2026, 11, 15, tzinfo=UTC))
    marker = folder / "crawl" / "crawl.json"
    marker.write_text(json.dumps(NEWER))
    return marker, lambda file: CrawlDir.open(file.parent)


def newer_table(folder: Path) -> tuple[Path, Opened]:
    store = make_store("folder", folder)
    store.write(1)
    (manifest,) = folder.rglob("_manifest.json")
    manifest.write_text(json.dumps(NEWER))
    return manifest, lambda file: store.open()


def newer_index(folder: Path) -> tuple[Path, Opened]:
    state = folder / text_index.STATE
    state.write_text(json.dumps(NEWER))
    return state, lambda file: text_index.read_state(file.parent)


def newer_database(made: Opened, opened: Opened | None = None) -> Callable[[Path], tuple[Path, Opened]]:
    def make(folder: Path) -> tuple[Path, Opened]:
        file = folder / "file.sqlite"
        made(file).close()  # type: ignore[attr-defined]
        connection = sqlite3.connect(file)
        connection.execute("PRAGMA user_version = 99")
        connection.close()
        return file, opened or made

    return make


FILES: dict[str, tuple[Callable[[Path], tuple[Path, Opened]], str, int]] = {
    "crawl directory": (newer_crawl, "this crawl", directory.FORMAT),
    "table": (newer_table, "the table", versions.FORMAT),
    "index": (newer_index, "the index", text_index.FORMAT),
    "live database": (newer_database(ServiceDb), "the database", schema.FORMAT),
    "live database, for reading": (newer_database(ServiceDb, DatabaseReader), "the database", schema.FORMAT),
    "robots.txt cache": (newer_database(SqliteRobotsCache), "the robots.txt cache", 1),
    "host holds": (newer_database(SqliteHostHolds), "the file of host holds", 1),
}


@pytest.mark.parametrize(("make", "what", "known"), FILES.values(), ids=FILES)
def test_newer_file_is_refused_as_newer_and_left_unchanged(
    tmp_path: Path, make: Callable[[Path], tuple[Path, Opened]], what: str, known: int
) -> None:
    file, opened = make(tmp_path)
    before = file.read_bytes()

    with pytest.raises(MadeByNewer) as told:
        opened(file)

    assert told.value.message == (
        f"{what} was made by a newer version of Scoter (format 99, this version reads up to {known}); upgrade Scoter"
    )
    assert str(tmp_path) in told.value.where
    assert file.read_bytes() == before


@pytest.mark.parametrize(("format_", "known"), MESSAGES.values(), ids=MESSAGES)
def test_newer_message_is_unreadable_as_newer(format_: MessageFormat[Any], known: int) -> None:
    with pytest.raises(UnreadableMessage) as told:
        format_.decode(bytes((known + 1,)) + b"from the future")

    assert str(told.value) == (
        "it was made by a newer version of Scoter"
        f" (format {known + 1}, this version reads up to {known}); upgrade Scoter"
    )


def test_newer_tables_of_cassandra_are_refused_as_newer() -> None:
    with pytest.raises(MadeByNewer) as told:
        TableSchema().statements_from(99, "cassandra.keyspace = live")

    known = cassandra.VERSION
    assert str(told.value) == (
        "cassandra.keyspace = live: the keyspace was made by a newer version of Scoter"
        f" (format 99, this version reads up to {known}); upgrade Scoter"
    )


def test_every_format_number_of_the_source_is_tested_here() -> None:
    tested = {module.__name__ for module in (cassandra, directory, messages, schema, text_index, versions)}
    # Made again if it is of another version; between processes of one version; only read by the script made with it.
    others = {"scoter.batch.site.problems", "scoter.live.fetching.wire", "scoter.sitesearch.site_files"}

    root = Path(scoter.__file__).parent
    found = {
        ".".join(("scoter", *file.relative_to(root).with_suffix("").parts))
        for file in root.rglob("*.py")
        if any(_is_format_number(node) for node in ast.parse(file.read_bytes()).body)
    }

    assert found == tested | others


def _is_format_number(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        names = node.targets
    elif isinstance(node, ast.AnnAssign):
        names = [node.target]
    else:
        return False
    is_number = isinstance(node.value, ast.Constant) and isinstance(node.value.value, int)
    return is_number and any(isinstance(each, ast.Name) and each.id in ("FORMAT", "VERSION") for each in names)
