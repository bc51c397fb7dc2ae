"""What a command has reported as done survives a power failure, and nothing half-written is ever reachable by name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.batch.crawls import NOW
from tests.export.crawls import crawl_with_archive, exported
from tests.power import SyncedDisk
from tests.store.exchanges import ABOUT, exchange, open_part
from tests.store.tables.rows import SCHEMA, rows, write

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import replace_file
from scoter.batch.crawldir.segment import Segment
from scoter.batch.jobs.mergesegs import mergesegs
from scoter.config import Config
from scoter.engine.duckdb import DuckDbEngine
from scoter.export.corpus.job import corpus
from scoter.export.corpus.judged import CorpusOptions
from scoter.export.page_rows import ExportSource
from scoter.live.content.log_files import LogFile, LogState, merge, write_part, write_state
from scoter.live.content.log_rows import LOG
from scoter.live.sqlite.database import ServiceDb, back_up
from scoter.store.disk import make_folder
from scoter.store.tables.local import LocalStorage
from scoter.store.tables.partset import PartSet
from scoter.store.tables.versions import LOCK
from scoter.store.warc import WarcWriter, recover


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SyncedDisk:
    return SyncedDisk(tmp_path, monkeypatch)


def test_the_model_loses_what_was_not_synced(disk: SyncedDisk, tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.replace("kept", b"one")
    (tmp_path / "never synced").write_bytes(b"two")
    storage.replace("changed", b"three")
    (tmp_path / "changed").write_bytes(b"longer than three")

    assert disk.lost() == ["changed", "never synced"]


def test_folder_survives_with_all_its_new_parents(disk: SyncedDisk, tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b" / "c")

    assert disk.lost() == []


def test_version_of_a_table_is_on_disk_before_current_names_it(disk: SyncedDisk, tmp_path: Path) -> None:
    write(str(tmp_path / "deep" / "table"), 1, parts=2)

    # Of the folder, only the lock and the new CURRENT itself may be lost at that moment.
    left = {"deep/table/CURRENT.new", f"deep/table/{LOCK}"}
    assert set(disk.lost_at_rename["CURRENT"]) <= left
    assert disk.lost() == [f"deep/table/{LOCK}"]


def test_next_version_with_shared_parts_is_on_disk_before_current_names_it(disk: SyncedDisk, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    write(table, 1)
    write(table, 2, parts=3)

    assert set(disk.lost_at_rename["CURRENT"]) <= {"table/CURRENT.new", f"table/{LOCK}"}
    assert disk.lost() == [f"table/{LOCK}"]


def test_part_of_a_segment_survives_once_it_is_published(disk: SyncedDisk, tmp_path: Path) -> None:
    parts = PartSet(tmp_path / "segments" / "20261115000001" / "crawl_fetch", SCHEMA)
    with parts.part() as part:
        part.write(rows(1))
    assert disk.lost_at_rename["part-00001.parquet"][1:] == []  # only its working name
    assert disk.lost() == []


def test_sealed_part_has_its_content_on_disk(disk: SyncedDisk, tmp_path: Path) -> None:
    part = PartSet(tmp_path, SCHEMA).part()
    part.write(rows(1))
    part.seal()

    assert not any(disk.unsynced(each) for each in tmp_path.iterdir())
    part.discard()


def test_archive_and_its_index_survive_once_it_is_finished(disk: SyncedDisk, tmp_path: Path) -> None:
    part = open_part(tmp_path / "segment" / "content")
    part.append(exchange())
    part.finish()

    assert [path.name for path in tmp_path.rglob("part.*")] != []
    assert disk.lost() == []


def test_synced_archive_keeps_every_exchange_appended_before(disk: SyncedDisk, tmp_path: Path) -> None:
    with WarcWriter(tmp_path, "live", ABOUT, size=2**20, age=timedelta(hours=1)) as writer:
        writer.write(exchange())
        (draft,) = tmp_path.glob("*.open")
        assert disk.unsynced(draft)
        writer.sync()
        assert not disk.unsynced(draft)


def test_recovered_archive_survives(disk: SyncedDisk, tmp_path: Path) -> None:
    part = open_part(tmp_path)
    part.append(exchange())
    part.close()
    recover(part.draft)

    assert disk.lost() == []


def test_log_of_outcomes_survives_before_its_state_says_so(disk: SyncedDisk, tmp_path: Path) -> None:
    hour = datetime(2026, 11, 15, 2, tzinfo=UTC)
    parts = [LogFile(hour, 1, first, first, is_part=True) for first in (1, 2)]
    for part in parts:
        write_part(tmp_path, part, [LOG.empty_table()])
    assert disk.lost() == []
    merge(tmp_path, parts)
    write_state(tmp_path, LogState(1, 2))

    assert disk.lost() == []


def test_copy_of_the_service_database_survives(disk: SyncedDisk, tmp_path: Path) -> None:
    ServiceDb(tmp_path / "service.sqlite").close()
    back_up(tmp_path / "service.sqlite", tmp_path / "copies" / "monday" / "service.sqlite")

    assert disk.lost([tmp_path / "copies" / "monday" / "service.sqlite"]) == []


def test_published_segment_survives(disk: SyncedDisk, tmp_path: Path) -> None:
    crawl = CrawlDir.create(tmp_path / "deep" / "crawl", NOW)
    draft = crawl.draft_segment("20261115000001")
    LocalStorage(Path(draft.path)).replace("segment.json", b"{}")
    with draft.crawl_generate(()).part():
        pass
    crawl.publish_segment(draft, "20261115000001")

    assert disk.lost((tmp_path / "deep" / "crawl" / "segments").rglob("*")) == []


def test_removed_segment_does_not_come_back(disk: SyncedDisk, tmp_path: Path) -> None:
    crawl = CrawlDir.create(tmp_path / "crawl", NOW)
    crawl.publish_segment(crawl.draft_segment("20261115000001"), "20261115000001")
    (segment,) = crawl.all_segments()
    with segment.crawl_generate(()).part():
        pass
    segment.remove_tables(["crawl_generate"])
    assert not disk.comes_back(Path(segment.path) / "crawl_generate")

    crawl.remove_segment(segment)
    assert not disk.comes_back(Path(segment.path))


def test_accepted_part_of_an_executor_survives(disk: SyncedDisk, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    for name in ("content/s-part-00001.warc.gz", "content/s-part-00001.cdxj", "crawl_fetch/part-00001.parquet"):
        (spool / name).parent.mkdir(parents=True, exist_ok=True)
        (spool / name).write_bytes(b"rows")
    make_folder(tmp_path / "s")
    segment = Segment(tmp_path / "s")
    segment.offer_part("part-00001", spool, "offer")
    segment.accept_part("part-00001", "offer")

    kept = [tmp_path / "s" / name for name in ("content/s-part-00001.warc.gz", "crawl_fetch/part-00001.parquet")]
    assert disk.lost(kept) == []
    assert "part-00001.parquet" not in disk.lost_at_rename["part-00001.parquet"]


def test_measured_texts_of_a_corpus_survive_before_they_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = crawl_with_archive(tmp_path / "crawl")
    disk = SyncedDisk(tmp_path, monkeypatch)
    with DuckDbEngine(tmp_path / "engine", 2**28) as engine:
        corpus(ExportSource(crawl, engine, Config()), tmp_path / "out", CorpusOptions(), now=NOW)

    name = "signals-000000000000.parquet"
    assert name not in disk.lost_at_rename[name]
    assert disk.synced.count("measured") == 1


def test_merged_archive_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = crawl_with_archive(tmp_path / "crawl")
    disk = SyncedDisk(tmp_path, monkeypatch)
    merged = CrawlDir.create(tmp_path / "merged", NOW)
    with DuckDbEngine(tmp_path / "engine", 2**28) as engine:
        mergesegs(merged, crawl.all_segments(), engine, Config(), now=NOW)

    (segment,) = merged.all_segments()
    assert disk.lost(Path(segment.path).rglob("*")) == []


def test_written_file_has_its_content_on_disk_before_its_name(disk: SyncedDisk, tmp_path: Path) -> None:
    with replace_file(tmp_path / "dump.csv") as out:
        out.write(b"url\n")

    assert "dump.csv" not in disk.lost_at_rename["dump.csv"]


@pytest.mark.parametrize("form", ["jsonl", "parquet", "warc", "sqlite"])
def test_finished_export_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    crawl = crawl_with_archive(tmp_path / "crawl")
    results = tmp_path / "results"
    results.mkdir()
    disk = SyncedDisk(results, monkeypatch)
    exported(crawl, results / "out", form)

    assert disk.lost((results / "out").rglob("*")) == []
