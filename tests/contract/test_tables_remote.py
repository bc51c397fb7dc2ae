"""Tables in object stores: locks that outlive their holder, and stores without conditional PUT."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from tests.store.tables.rows import NOW, SCHEMA, marks, rows, write
from tests.store.tables.stores import Store, make_store

from scoter.errors import UsageError, UserError
from scoter.store.tables import PartSet, Table, break_lock
from scoter.store.tables.remote import ObjectStorage
from scoter.store.tables.storage import encode_holder, this_process

NAMES = itertools.count()


@pytest.fixture
def s3(tmp_path: Path) -> Store:
    return make_store("s3", tmp_path)


class Unconditional(ObjectStorage):
    """A store that rejects conditional PUTs as unsupported."""

    def _create(self, name: str, data: bytes) -> None:
        whole = self._fs

        class Without:
            def __getattr__(self, name: str) -> Any:
                return getattr(whole, name)

            def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> None:
                if mode == "create":
                    raise NotImplementedError(mode)
                whole.pipe_file(path, value)

        self._fs = Without()
        try:
            super()._create(name, data)
        finally:
            self._fs = whole


class Careless(ObjectStorage):
    """A store that accepts conditional PUTs and ignores the condition."""

    def _create(self, name: str, data: bytes) -> None:
        self.replace(name, data)


class Racing(ObjectStorage):
    """A store in which another writer takes the lock between our check and our attempt."""

    def _create(self, name: str, data: bytes) -> None:
        self.replace(name, encode_holder(this_process("the other one", NOW)))
        super()._create(name, data)


class Silent(ObjectStorage):
    """A store that executes the PUT of CURRENT, or not, and then fails to respond."""

    arrives = True

    def replace(self, name: str, data: bytes) -> None:
        if name == "CURRENT":
            if self.arrives:
                super().replace(name, data)
            raise UserError("cannot write the object: no answer", where=self.location(name))
        super().replace(name, data)


def test_error_for_a_leftover_lock_says_how_to_break_it(s3: Store) -> None:
    s3.write(1)
    s3.place.replace("LOCK", encode_holder(this_process("updatedb", NOW)))

    with pytest.raises(UsageError) as refused:
        s3.write(2)
    assert "(updatedb), since 2026-11-15 03:30:00" in str(refused.value)
    assert f"If that process no longer runs, break its lock: remove {s3.root}/LOCK" in str(refused.value)

    broken = break_lock(s3.root, options=s3.options)
    assert broken is not None
    assert broken.command == "updatedb"
    assert break_lock(s3.root, options=s3.options) is None
    assert s3.write(2).version == 2


def test_empty_lock_is_respected(s3: Store) -> None:
    s3.write(1)
    s3.place.replace("LOCK", b"")

    with pytest.raises(UsageError, match="it is being written by"):
        s3.write(2)


def test_writer_whose_lock_was_broken_changes_nothing(s3: Store) -> None:
    s3.write(1)

    with s3.new() as late:
        with late.part() as part:
            part.write(rows(2))
        break_lock(s3.root, options=s3.options)
        with pytest.raises(UserError, match="the lock of this writer is gone"):
            late.commit()
        with s3.new() as other, pytest.raises(UsageError, match="it is being written by"):
            late.commit()
        assert other.previous is not None

    assert marks(s3.open()) == [1] * 10


def test_only_one_of_two_concurrent_writers_gets_the_lock(s3: Store) -> None:
    with pytest.raises(UsageError, match="the other one"), Table.write(Racing(s3.root, s3.options), SCHEMA):
        pass


def test_store_without_conditional_put_still_detects_a_lock(s3: Store) -> None:
    place = Unconditional(s3.root, s3.options)

    write(place, 1)

    assert marks(s3.open()) == [1] * 10
    with s3.new(), pytest.raises(UsageError, match="it is being written by"), Table.write(place, SCHEMA):
        pass


def test_visible_lock_is_respected_if_the_store_ignores_conditions(s3: Store) -> None:
    with s3.new() as first:
        with (
            pytest.raises(UsageError, match="it is being written by"),
            Table.write(Careless(s3.root, s3.options), SCHEMA),
        ):
            pass
        first.commit()

    assert s3.open().version == 1


@pytest.mark.parametrize("arrives", [True, False])
def test_commit_without_a_response_keeps_both_versions(s3: Store, arrives: bool) -> None:
    s3.write(1)
    place = Silent(s3.root, s3.options)
    place.arrives = arrives

    with pytest.raises(UserError, match="no answer"):
        write(place, 2)

    assert marks(s3.open()) == [2 if arrives else 1] * 10
    assert "v000002" in s3.names()
    assert s3.write(3).previous == (2 if arrives else 1)


def test_any_fsspec_file_system_works() -> None:
    root = f"memory://tables-{next(NAMES)}"
    for mark in (1, 2, 3):
        write(root, mark, parts=2)
    parts = PartSet(f"{root}-parts", SCHEMA)
    with parts.part() as part:
        part.write(rows(4))

    assert marks(Table.open(root)) == [3] * 20
    assert parts.count() == 10


@pytest.mark.parametrize(
    ("url", "options", "told"),
    [
        ("nothing://a/b", {}, "cannot reach the store: Protocol not known: nothing"),
        ("s3://no-such-bucket/a", None, "there is no table here"),
        ("http://127.0.0.1:9/a", {}, "cannot read the object: Cannot connect to host"),
    ],
)
def test_unreachable_store_is_a_clear_error(s3: Store, url: str, options: Any, told: str) -> None:
    with pytest.raises(UserError, match=told):
        Table.open(url, options=s3.options if options is None else options)
