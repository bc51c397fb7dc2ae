"""The temporary files of the feeder."""

from __future__ import annotations

import errno
import os
from collections import defaultdict, deque
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from scoter.errors import Defect
from scoter.fetch.queues.spill import LARGEST_RECORD, TAIL, Spill


def test_each_host_gets_its_records_back_in_order(tmp_path: Path) -> None:
    spill = Spill(tmp_path)
    for number in range(10):
        spill.push("a", b"a%d" % number)
        spill.push("b", b"b%d" % number * 5_000)

    assert [spill.pop("a") for _ in range(11)] == [*(b"a%d" % number for number in range(10)), None]
    assert [spill.pop("b") for _ in range(10)] == [b"b%d" % number * 5_000 for number in range(10)]
    assert "a" not in spill
    assert spill.records == 0
    spill.close()


def test_spill_file_is_deleted_when_all_records_are_read(tmp_path: Path) -> None:
    spill = Spill(tmp_path, segment=1_000)
    largest = 0
    for _ in range(20):
        spill.push("a", b"x" * 88)  # a hundred bytes with its head
    for _ in range(1_000):
        spill.push("a", b"x" * 88)
        assert spill.pop("a") is not None
        largest = max(largest, spill.bytes)

    assert largest <= 2_000 + 2 * 1_000
    spill.close()
    assert spill.bytes == 0


def test_fully_read_spill_file_is_reused(tmp_path: Path) -> None:
    spill = Spill(tmp_path)
    for _ in range(3):
        spill.push("a", b"x" * 88)
        spill.push("b", b"x" * 88)
        assert spill.bytes == 200
        assert [spill.pop("a"), spill.pop("b")] == [b"x" * 88] * 2
        assert spill.bytes == 0
    spill.close()


def test_a_record_beyond_the_bound_is_a_defect(tmp_path: Path) -> None:
    spill = Spill(tmp_path)

    with pytest.raises(Defect, match="at most"):
        spill.push("a", b"x" * (LARGEST_RECORD + 1))
    spill.push("a", b"x" * LARGEST_RECORD)

    assert len(spill.pop("a") or b"") == LARGEST_RECORD
    spill.close()


def test_unwritten_tail_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pwrite", _no_space)
    spill = Spill(tmp_path)
    for number in range(100):
        spill.push("ab"[number % 2], b"%d" % number)

    assert [spill.pop("a") for _ in range(50)] == [b"%d" % number for number in range(0, 100, 2)]
    spill.close()


def test_failing_disk_refuses_items_beyond_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spill = Spill(tmp_path)
    taken = 0
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", _no_space)
        with suppress(OSError):
            for taken in range(2 * TAIL):
                spill.push("a", b"%d" % taken)

    assert TAIL // 20 < spill.records == taken <= TAIL // 12
    spill.push("a", b"%d" % taken)  # the disk has room again
    assert [spill.pop("a") for _ in range(taken + 2)] == [*(b"%d" % number for number in range(taken + 1)), None]
    spill.close()


def test_a_file_that_is_full_is_written_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0
    write = os.pwrite

    def counted(file: int, data: bytes, offset: int) -> int:
        nonlocal written
        written += len(data)
        return write(file, data, offset)

    monkeypatch.setattr(os, "pwrite", counted)
    spill = Spill(tmp_path, segment=1_000)
    for number in range(25):
        spill.push(f"host {number}", b"x" * 88)  # a hundred bytes with its head, and linked to no other

    assert written == 2_000
    spill.close()


def _no_space(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.binary(max_size=1_500), st.booleans()), max_size=80)


@given(STEPS, st.sampled_from([0, 100, 1_000, TAIL]), st.sampled_from([2_000, 100_000]))
@settings(max_examples=examples(100), deadline=None)
def test_any_order_of_writing_and_reading_gives_what_queues_in_memory_give(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bytes | None, bool]], tail: int, segment: int
) -> None:
    spill = Spill(tmp_path_factory.getbasetemp(), segment, tail)
    model: dict[str, deque[bytes]] = defaultdict(deque)
    for key, payload, is_full in steps:
        if payload is None:
            assert spill.pop(key) == (model[key].popleft() if model[key] else None)
        else:
            with pytest.MonkeyPatch.context() as patch, suppress(OSError):
                if is_full:
                    patch.setattr(os, "pwrite", _no_space)
                spill.push(key, payload)
                model[key].append(payload)
        assert spill.records == sum(map(len, model.values()))
    for key, left in model.items():
        assert [spill.pop(key) for _ in left] == list(left)
    assert spill.records == 0
    spill.close()
