"""Tables in object stores: locks that expire, writers that come too late, and stores without conditional writes."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.store.tables.rows import NOW, SCHEMA, marks, rows, write
from tests.store.tables.stores import Store, make_store

from scoter.errors import StoreConflict, UsageError, UserError
from scoter.store.objects.leases import process_identity
from scoter.store.objects.path import StorePath
from scoter.store.objects.registry import client_of
from scoter.store.tables import PartSet, Table, break_lock
from scoter.store.tables.remote import ObjectStorage
from scoter.store.tables.storage import decode_holder, encode_holder, this_process

NAMES = itertools.count()


@pytest.fixture
def s3(tmp_path: Path) -> Store:
    return make_store("s3", tmp_path)


@pytest.fixture
def memory(tmp_path: Path) -> Store:
    return make_store("memory", tmp_path)


class Silent(ObjectStorage):
    """A store that executes the PUT of CURRENT, or not, and then fails to respond."""

    arrives = True

    def replace(self, name: str, data: bytes) -> None:
        if name == "CURRENT":
            if self.arrives:
                super().replace(name, data)
            raise UserError("cannot write the object: no answer", where=self.location(name))
        super().replace(name, data)


def put_lock(store: Store, **changes: Any) -> None:
    """Write the lock of a command in another process."""
    client, key = client_of(store.root, store.options)
    client.put(f"{key}/LOCK", encode_holder(replace(this_process("updatedb", NOW), **changes)))


def test_lock_without_a_lease_is_respected_and_can_be_broken(s3: Store) -> None:
    s3.write(1)
    put_lock(s3)

    with pytest.raises(UsageError) as refused:
        s3.write(2)
    assert "(updatedb), since 2026-11-15 03:30:00" in str(refused.value)
    assert f"If that process no longer runs, break its lock: remove {s3.root}/LOCK" in str(refused.value)

    broken = break_lock(s3.root, options=s3.options)
    assert broken is not None
    assert broken.command == "updatedb"
    assert break_lock(s3.root, options=s3.options) is None
    assert s3.write(2).version == 2


def test_lease_of_a_living_process_is_respected(s3: Store) -> None:
    s3.write(1)
    put_lock(s3, lease=60.0, process=process_identity())

    with pytest.raises(UsageError, match=re.escape("its lock expires 60 seconds after its end")):
        s3.write(2)


def test_lease_of_a_process_that_ended_on_this_machine_is_taken_at_once(s3: Store) -> None:
    s3.write(1)
    machine = process_identity().split(" ")[0]
    put_lock(s3, lease=60.0, process=f"{machine} 4194304 1")

    assert s3.write(2).version == 2


def test_released_lease_is_free(s3: Store) -> None:
    s3.write(1)

    client, key = client_of(s3.root, s3.options)
    found = client.get(f"{key}/LOCK")
    assert found is not None
    assert found.data == b""
    assert s3.write(2).version == 2


def test_holder_of_a_lease_is_named_in_it(s3: Store) -> None:
    client, key = client_of(s3.root, s3.options)
    with s3.new(writer="inject"):
        found = client.get(f"{key}/LOCK")
    assert found is not None
    holder = decode_holder(found.data)
    assert holder is not None
    assert (holder.command, holder.lease) == ("inject", client.lease_seconds)


def test_writer_whose_lease_was_taken_over_publishes_nothing(s3: Store) -> None:
    """The writer has just checked its lease, and is suspended before it publishes."""
    s3.write(1)

    with s3.new() as late:
        with late.part() as part:
            part.write(rows(2))
        break_lock(s3.root, options=s3.options)
        with other_process(s3).new() as other:
            with pytest.raises(StoreConflict, match="another process has changed it"):
                late.commit()
            with other.part() as part:
                part.write(rows(3))
            other.commit()

    assert marks(s3.open()) == [3] * 10


def test_first_version_of_a_late_writer_is_not_published_either(s3: Store) -> None:
    with s3.new() as late:
        with late.part() as part:
            part.write(rows(2))
        break_lock(s3.root, options=s3.options)
        with other_process(s3).new(), pytest.raises(StoreConflict):
            late.commit()

    with pytest.raises(UsageError, match="the table has no finished version"):
        s3.open()
    assert s3.write(3).version > 1


def test_two_writers_do_not_overwrite_each_others_files(s3: Store) -> None:
    first, second = ObjectStorage(_path(s3)), ObjectStorage(_path(other_process(s3)))
    drafts = [place.draft("part") for place in (first, second)]
    for number, draft in enumerate(drafts):
        draft.write_text(f"rows {number}")

    first.finish("part", drafts[0])
    with pytest.raises(StoreConflict):
        second.finish("part", drafts[1])
    assert first.read("part") == b"rows 0"


def test_repeated_upload_of_the_same_file_succeeds(s3: Store) -> None:
    """The response to the first attempt may have been lost."""
    place = ObjectStorage(_path(s3))
    for _ in range(2):
        draft = place.draft("part")
        draft.write_text("rows")
        place.finish("part", draft)

    assert place.read("part") == b"rows"


@pytest.mark.parametrize("arrives", [True, False])
def test_commit_without_a_response_keeps_both_versions(s3: Store, arrives: bool) -> None:
    s3.write(1)
    place = Silent(_path(s3))
    place.arrives = arrives

    with pytest.raises(UserError, match="no answer"):
        write(place, 2)

    assert marks(s3.open()) == [2 if arrives else 1] * 10
    assert "v000002" in s3.names()
    assert s3.write(3).previous == (2 if arrives else 1)


def test_lock_in_a_store_without_conditions_lasts_until_it_is_broken(memory: Store) -> None:
    memory.write(1)
    put_lock(memory, lease=60.0)

    with pytest.raises(UsageError, match="break its lock"):
        memory.write(2)
    break_lock(memory.root, options=memory.options)
    assert memory.write(2).version == 2


def test_writer_whose_lasting_lock_was_broken_changes_nothing(memory: Store) -> None:
    memory.write(1)

    with memory.new() as late:
        with late.part() as part:
            part.write(rows(2))
        break_lock(memory.root, options=memory.options)
        with pytest.raises(UserError, match="the lock of this writer is gone"):
            late.commit()

    assert marks(memory.open()) == [1] * 10


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
        ("s3://no-such-bucket/a", None, "there is no such bucket"),
        ("s3://", None, "the URL names no bucket"),
        ("s3://key:secret@bucket/a", None, "credentials must not be part of a URL"),
        ("http://127.0.0.1:9/a", {}, "cannot read the object: Cannot connect to host"),
    ],
)
def test_unreachable_store_is_a_clear_error(s3: Store, url: str, options: Any, told: str) -> None:
    with pytest.raises(UserError, match=told) as refused:
        Table.open(url, options=s3.options if options is None else options)
    assert "secret" not in str(refused.value)


def other_process(store: Store) -> Store:
    """Return the same storage as another process sees it, which remembers nothing of this one's requests."""
    return replace(store, options={**store.options, "client_kwargs": {"region_name": f"eu-west-{next(NAMES) + 2}"}})


def _path(store: Store) -> StorePath:
    return StorePath(*client_of(store.root, store.options))
