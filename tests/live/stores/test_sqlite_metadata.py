from __future__ import annotations

from pathlib import Path

import pytest
from tests.live.stores.contract_metadata import MetadataContract
from tests.live.stores.fakes import Time, stored, url_of

from scoter.errors import StoreUnavailable
from scoter.live.ports import MetadataStore
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.metadata import SqliteMetadata, SqliteMetadataReader, key_of, open_readonly


@pytest.fixture
def same_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoter.live.sqlite.metadata.key_of", lambda url: 7)


class TestMetadataWhereAllKeysAreTheSame(MetadataContract):
    """With a constant key all but one record go to the overflow table."""

    @pytest.fixture
    def metadata(self, db: ServiceDb, same_keys: None) -> MetadataStore:
        return SqliteMetadata(db)


def test_keys_fit_into_sqlite_integers() -> None:
    keys = [key_of(url_of(f"n{number}")) for number in range(1_000)]

    assert len(set(keys)) == 1_000
    assert all(-(2**63) <= key < 2**63 for key in keys)
    assert key_of("https://example.com/") == key_of("https://example.com/")


async def test_overflow_url_keeps_one_row_after_the_colliding_one_expires(
    db: ServiceDb, time: Time, same_keys: None
) -> None:
    metadata = SqliteMetadata(db)
    await metadata.put([stored("first", lives=10), stored("second", value=b"first")])
    time.passes(10)
    assert await metadata.expire(10) == 1

    await metadata.put([stored("second", value=b"again", at=time.now)])

    assert await metadata.get(url_of("second")) == stored("second", value=b"again", at=time.now)
    assert (metadata.size().records, metadata.size().collisions) == (1, 1)


async def test_size_comes_from_tallies(db: ServiceDb, time: Time) -> None:
    metadata = SqliteMetadata(db)
    await metadata.put([stored(f"n{number}", value=b"x" * 1_000, lives=number + 1) for number in range(100)])
    await metadata.put([stored("n99")])
    full = metadata.size()

    time.passes(60)
    await metadata.expire(1_000)
    emptier = metadata.size()

    assert (full.records, emptier.records, full.collisions) == (100, 40, 0)
    assert full.file_bytes >= 100_000
    assert emptier.free_bytes > 0


async def test_readonly_process_sees_records_and_cannot_write(db: ServiceDb, time: Time) -> None:
    metadata = SqliteMetadata(db)
    with open_readonly(db.path, clock=time.clock) as reader:
        assert await reader.get(url_of("a")) is None

        await metadata.put([stored("a", value=b"[1]")])

        assert await reader.get(url_of("a")) == stored("a", value=b"[1]")
        assert await reader.value(url_of("a")) == b"[1]"
        assert await reader.value(url_of("b")) is None
        assert await reader.values([url_of("a"), url_of("b")]) == {url_of("a"): b"[1]"}
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            reader._reader.all("DELETE FROM urls RETURNING 1")


async def test_reader_opens_the_files_of_a_killed_service(db: ServiceDb, tmp_path: Path, time: Time) -> None:
    await SqliteMetadata(db).put([stored("a")])
    left = tmp_path / "left"
    left.mkdir()
    for file in ("service.sqlite", "service.sqlite-wal"):
        (left / file).write_bytes((tmp_path / file).read_bytes())

    with open_readonly(left / "service.sqlite", clock=time.clock) as reader:
        assert isinstance(reader, SqliteMetadataReader)
        assert await reader.get(url_of("a")) == stored("a")
