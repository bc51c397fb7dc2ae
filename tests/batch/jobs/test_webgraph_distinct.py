"""Finding the distinct hashes of a stream."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from scoter.batch.graph.distinct import BITS, HashCollision, SeenHashes

# Few distinct high and low bits, so that hashes compete for their places.
HASHES = st.builds(lambda high, low: (high << (BITS - 3)) | low, st.integers(0, 7), st.integers(0, 40))


@settings(deadline=None, max_examples=examples(60))
@given(batches=st.lists(st.lists(HASHES, max_size=60), max_size=12))
def test_rows_are_new_once(batches: list[list[int]]) -> None:
    seen, known = SeenHashes(), set[int]()
    for batch in batches:
        expected = []
        for row, value in enumerate(batch):
            if max(value, 1) not in known:
                known.add(max(value, 1))
                expected.append(row)

        checks = np.array([max(value, 1) % 97 for value in batch], np.int32)
        found = seen.add(np.array(batch, np.int64), checks)

        assert found.tolist() == expected
    assert seen.count == len(known)


def test_many_hashes_are_remembered_while_the_table_grows() -> None:
    values = np.random.default_rng(1).integers(1, 2**BITS - 1, 400_000, np.int64)
    checks = (values % 1_000_003).astype(np.int32)
    seen = SeenHashes()

    new = [len(seen.add(values[at : at + 50_000], checks[at : at + 50_000])) for at in range(0, 400_000, 50_000)]
    again = [len(seen.add(values[at : at + 30_000], checks[at : at + 30_000])) for at in range(0, 400_000, 30_000)]

    assert sum(new) == len(np.unique(values))
    assert sum(again) == 0


@pytest.mark.parametrize(("before", "batch"), [([5], [5]), ([], [5, 5]), ([7, 5, 6], [1, 2, 5])])
def test_values_with_the_same_hash_are_noticed(before: list[int], batch: list[int]) -> None:
    seen = SeenHashes()
    seen.add(np.array(before, np.int64), np.arange(len(before), dtype=np.int32))
    with pytest.raises(HashCollision):
        seen.add(np.array(batch, np.int64), np.arange(len(batch), dtype=np.int32) + 10)
