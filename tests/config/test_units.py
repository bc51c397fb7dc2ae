from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.config.units import (
    LARGEST,
    LONGEST,
    Network,
    PortRange,
    Size,
    read_duration,
    read_network,
    read_ports,
    read_size,
    write_duration,
    write_size,
)


@given(st.timedeltas(min_value=timedelta(0), max_value=LONGEST))
def test_duration_round_trip_is_exact(value: timedelta) -> None:
    assert read_duration(write_duration(value)) == value


@given(st.integers(min_value=0, max_value=LARGEST))
def test_size_round_trip_is_exact(value: int) -> None:
    assert read_size(write_size(Size(value))) == value


@given(st.integers(0, 10**9), st.sampled_from(["KiB", "MiB", "KB", "MB", "B"]))
def test_size_is_written_in_its_shortest_form(number: int, unit: str) -> None:
    size = read_size(f"{number}{unit}")

    assert len(write_size(size).rstrip("TGMKiB")) <= len(str(number))


def _complaint(read: Callable[[Any], object], raw: object) -> str:
    try:
        read(raw)
    except ValueError as error:
        return str(error)
    return ""


@given(st.text(max_size=30))
def test_any_text_is_a_quantity_or_a_value_error(text: str) -> None:
    for read in (read_duration, read_size):
        complaint = _complaint(read, text)

        assert not complaint or complaint.startswith(("is ", "has "))


@given(st.one_of(st.floats(), st.integers()))
def test_only_finite_non_negative_numbers_are_quantities(number: float) -> None:
    for read in (read_duration, read_size):
        complaint = _complaint(read, number)

        assert complaint.startswith("is ") or (number >= 0 and math.isfinite(number))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5s", timedelta(seconds=5)),
        ("1.5h", timedelta(minutes=90)),
        ("30d", timedelta(days=30)),
        ("250ms", timedelta(milliseconds=250)),
        ("2w", timedelta(days=14)),
        ("10 min", timedelta(minutes=10)),
        ("3M", timedelta(minutes=3)),
        ("7", timedelta(seconds=7)),
        (0.1, timedelta(milliseconds=100)),
        (12, timedelta(seconds=12)),
    ],
)
def test_duration_is_parsed_with_its_unit(text: str | float, expected: timedelta) -> None:
    assert read_duration(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1MiB", 2**20), ("64KiB", 2**16), ("10MB", 10**7), ("1.5 gib", 3 * 2**29), ("12", 12), (12.0, 12)],
)
def test_size_is_parsed_with_its_unit(text: str | float, expected: int) -> None:
    assert read_size(text) == expected


@pytest.mark.parametrize("text", ["", "s", "5x", "-5s", "5s5", "1e3s", "٥s", "5.s", ".5s", "9" * 19, "36501d"])
def test_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(is|has) "):
        read_duration(text)


@pytest.mark.parametrize("raw", ["1 potato", "-1", -1, 1.5, math.nan, math.inf, 2**61, "2000000TiB"])
def test_invalid_size_is_rejected(raw: str | float) -> None:
    with pytest.raises(ValueError, match=r"^(is|has) "):
        read_size(raw)


def test_port_range_includes_both_ends() -> None:
    ports = read_ports("8000 - 8999")

    assert ports == PortRange(8000, 8999)
    assert 8000 in ports
    assert 8999 in ports
    assert 9000 not in ports
    assert [str(ports), str(read_ports(80))] == ["8000-8999", "80"]


@pytest.mark.parametrize("raw", ["0", "65536", "9-8", "80,81", "", -80])
def test_invalid_port_is_rejected(raw: str | int) -> None:
    with pytest.raises(ValueError, match="is not a port"):
        read_ports(raw)


def test_single_address_is_a_network_of_one() -> None:
    assert read_network(" 127.0.0.1 ") == Network("127.0.0.1/32")
    assert read_network("FC00::/7") == Network("fc00::/7")


@pytest.mark.parametrize("raw", ["10.0.0.1/8", "10.0.0.0/33", "example.org", ""])
def test_invalid_network_is_rejected(raw: str) -> None:
    with pytest.raises(ValueError, match=r"^(is|has) "):
        read_network(raw)
