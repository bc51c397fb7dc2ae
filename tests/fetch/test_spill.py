"""The temporary files of the feeder."""

from __future__ import annotations

from collections import defaultdict, deque
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoter.errors import Defect
from scoter.fetch.queues.spill import LARGEST_RECORD, Spill


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


def test_a_file_goes_when_its_records_have_been_read(tmp_path: Path) -> None:
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


def test_a_file_that_has_been_read_whole_is_written_from_its_start_again(tmp_path: Path) -> None:
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


@given(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.binary(max_size=1_500)), max_size=80))
@settings(max_examples=50, deadline=None)
def test_any_order_of_writing_and_reading_gives_what_queues_in_memory_give(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bytes | None]]
) -> None:
    spill = Spill(tmp_path_factory.getbasetemp(), segment=2_000)
    model: dict[str, deque[bytes]] = defaultdict(deque)
    for key, payload in steps:
        if payload is None:
            assert spill.pop(key) == (model[key].popleft() if model[key] else None)
        else:
            spill.push(key, payload)
            model[key].append(payload)
        assert spill.records == sum(map(len, model.values()))
    spill.close()
