"""``BoundedMap`` stays within its bounds and evicts the least recently used entries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scoter.core.bounded import BoundedMap

_KEYS = st.integers(0, 5)
_STEPS = st.lists(st.one_of(st.tuples(_KEYS), st.tuples(_KEYS, st.integers(0, 12))))


@given(_STEPS, st.integers(1, 4), st.none() | st.integers(0, 10))
def test_map_behaves_like_list_in_order_of_use(
    steps: list[tuple[int] | tuple[int, int]], max_entries: int, max_weight: int | None
) -> None:
    bounded: BoundedMap[int, str] = BoundedMap(max_entries, max_weight=max_weight)
    model: list[tuple[int, str, int]] = []  # least recently used first

    for number, step in enumerate(steps):
        known = next((entry for entry in model if entry[0] == step[0]), None)
        if known is not None:
            model.remove(known)
        if len(step) == 1:
            assert bounded.peek(step[0]) == bounded.get(step[0]) == (known and known[1])
            if known is not None:
                model.append(known)
        else:
            key, weight = step
            bounded.put(key, str(number), weight)
            if max_weight is None or weight <= max_weight:
                model.append((key, str(number), weight))
            while len(model) > max_entries or (max_weight is not None and sum(w for *_, w in model) > max_weight):
                del model[0]

        assert list(bounded) == [key for key, *_ in model]
        assert len(bounded) == len(model)
        assert bounded.weight == sum(weight for *_, weight in model)


def test_entry_heavier_than_the_bound_evicts_nothing_else() -> None:
    bounded: BoundedMap[str, str] = BoundedMap(10, max_weight=10)
    bounded.put("small", "a", 1)

    bounded.put("huge", "b", 11)

    assert list(bounded) == ["small"]


def test_entry_that_grows_beyond_the_bound_is_removed() -> None:
    bounded: BoundedMap[str, str] = BoundedMap(10, max_weight=10)
    bounded.put("page", "a", 1)

    bounded.put("page", "b", 11)

    assert "page" not in bounded
    assert bounded.weight == 0


def test_membership_and_peek_do_not_count_as_use() -> None:
    bounded: BoundedMap[str, int] = BoundedMap(2)
    bounded.put("a", 1)
    bounded.put("b", 2)

    assert "a" in bounded
    assert bounded.peek("a") == 1
    bounded.put("c", 3)

    assert list(bounded) == ["b", "c"]


def test_pop_and_clear_release_weight() -> None:
    bounded: BoundedMap[str, int] = BoundedMap(2, max_weight=5)
    bounded.put("a", 1, 2)
    bounded.put("b", 2, 3)

    assert bounded.pop("a") == 1
    assert bounded.pop("a") is None
    assert bounded.weight == 3

    bounded.clear()

    assert len(bounded) == bounded.weight == 0
