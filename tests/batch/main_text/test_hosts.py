"""Tests of what is learnt about hosts."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from scoter.batch.main_text.hosts import SAMPLE, KnownHosts
from scoter.parse.main import KnownBlocks

_HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=6)


@given(st.lists(_HASHES, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_sample_of_a_host_does_not_depend_on_the_order_of_the_parts(parts: list[list[int]], random: object) -> None:
    pages = {each for part in parts for each in part}

    with TemporaryDirectory() as folder, KnownHosts(Path(folder) / "hosts.sqlite") as hosts:
        for part in random.sample(parts, len(parts)):  # type: ignore[attr-defined]
            hosts.choose({"a.example": part}, only_known=False)

        assert hosts.sample("a.example") == frozenset(sorted(pages)[:SAMPLE])


def test_pages_of_other_parts_are_chosen_only_for_hosts_that_are_needed(tmp_path: Path) -> None:
    with KnownHosts(tmp_path / "hosts.sqlite") as hosts:
        hosts.choose({"a.example": [5]}, only_known=False)
        hosts.choose({"a.example": [3], "b.example": [4]}, only_known=True)

        assert (hosts.sample("a.example"), hosts.sample("b.example")) == (frozenset({3, 5}), frozenset())


def test_hosts_are_learnt_by_several_workers(tmp_path: Path) -> None:
    file = tmp_path / "hosts.sqlite"
    with KnownHosts(file) as one, KnownHosts(file) as two:
        one.choose({"a.example": [1, 2]}, only_known=False)
        one.add("a.example", KnownBlocks().add([7]))
        two.add("a.example", KnownBlocks().add([7, 8]))

        assert two.blocks("a.example") == KnownBlocks(2, {7: 2, 8: 1})
        assert two.blocks("b.example") == KnownBlocks()
