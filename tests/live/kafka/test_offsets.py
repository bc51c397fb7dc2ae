"""Positions with what is done after them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scoter.live.kafka.offsets import MOST_TEXT, PartitionOffsets, decoded_offsets, encoded_offsets


@given(st.sets(st.integers(1, 5_000)))
def test_offsets_are_encoded_exactly_if_they_fit(offsets: set[int]) -> None:
    text = encoded_offsets(offsets)

    assert set(decoded_offsets(text)) <= offsets
    assert len(text) <= MOST_TEXT
    if len(offsets) < 300:
        assert set(decoded_offsets(text)) == offsets


@given(st.text(max_size=50) | st.text(max_size=50).map(lambda text: f"1:{text}"))
def test_text_that_cannot_be_read_contains_nothing(text: str) -> None:
    assert isinstance(decoded_offsets(text), list)


@given(st.integers(0, 100), st.lists(st.integers(1, 3), max_size=60), st.data())
def test_next_owner_processes_exactly_what_is_not_done(start: int, gaps: list[int], data: st.DataObject) -> None:
    offsets = []
    for gap in gaps:  # transactions use offsets that are never received
        start += gap
        offsets.append(start)
    first = PartitionOffsets(offsets[0] if offsets else start)
    for offset in offsets:
        assert first.receive(offset)
    done = data.draw(st.sets(st.sampled_from(offsets))) if offsets else set()
    for offset in data.draw(st.permutations(sorted(done))):
        first.finish(offset)

    position, text = first.committed()
    second = PartitionOffsets(position, text)
    again = {offset for offset in offsets if offset >= position and second.receive(offset)}

    assert again == set(offsets) - done
    assert len(first) == len(second) == len(again)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=40), st.sets(st.integers(0, 40)))
def test_position_in_a_transaction_is_that_after_it(finished: list[int], more: set[int]) -> None:
    offsets = PartitionOffsets(0)
    for each in range(41):
        offsets.receive(each)
    for each in finished:
        offsets.finish(each)

    promised = offsets.without(more)
    for each in more:
        offsets.finish(each)

    assert promised == offsets.committed()


def test_repeated_offset_is_not_processed_again() -> None:
    offsets = PartitionOffsets(5)
    assert offsets.receive(5)
    assert not offsets.receive(5)
    assert not offsets.receive(4)
