"""Values with their own notation: durations, sizes, port ranges and networks.

``read_x(write_x(value)) == value``, exactly. Every reader raises ``ValueError`` with a predicate ("is not a duration"),
to which the caller adds the setting's name and what it accepts.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, NewType

import msgspec

Size = NewType("Size", int)
"""A number of bytes."""

Network = NewType("Network", str)
"""An IP network in CIDR form, such as ``10.0.0.0/8``."""

LONGEST: Final = timedelta(days=36_500)
LARGEST: Final = Size(2**60)

# Microseconds are what timedelta holds, so each unit is a whole number of them.
_DURATION_UNITS: Final = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}
_WRITTEN_DURATIONS: Final = ("d", "h", "m", "s", "ms", "us")

_SIZE_UNITS: Final = {
    "b": 1,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
_WRITTEN_SIZES: Final = ("TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB", "KB", "B")

# Digits are bounded, or Python's limit for huge integers would raise its own error.
_QUANTITY: Final = re.compile(r"\s*([0-9]{1,20})(?:\.([0-9]{1,20}))?\s*([A-Za-z]*)\s*", re.ASCII)
_PORTS: Final = re.compile(r"\s*([0-9]{1,5})\s*(?:-\s*([0-9]{1,5})\s*)?", re.ASCII)


def _scaled(text: str, units: dict[str, int], plain: str, what: str) -> int:
    """Return the quantity in its smallest unit, rounded half up."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"is not {what}")
    whole, fraction, unit = found[1], found[2] or "", found[3].lower() or plain
    if unit not in units:
        raise ValueError(f'has the unknown unit "{found[3]}"')
    scale: int = 10 ** len(fraction)
    return (int(whole + fraction) * units[unit] * 2 + scale) // (scale * 2)


def read_duration(raw: str | float) -> timedelta:
    """Parse a duration: a string with a unit, or a plain number of seconds.

    >>> read_duration("1.5h"), read_duration(5)
    (datetime.timedelta(seconds=5400), datetime.timedelta(seconds=5))
    """
    if isinstance(raw, str):
        micros = _scaled(raw, _DURATION_UNITS, "s", "a duration")
    else:
        micros = round(_sane(raw, LONGEST.total_seconds()) * 1_000_000)
    if micros > LONGEST // timedelta(microseconds=1):
        raise ValueError("is longer than 100 years")
    return timedelta(microseconds=micros)


def write_duration(value: timedelta) -> str:
    """Return a duration as text, in the largest unit that is exact.

    >>> write_duration(timedelta(minutes=90)), write_duration(timedelta(days=30))
    ('90m', '30d')
    """
    micros = value // timedelta(microseconds=1)
    if micros == 0:
        return "0s"
    unit = next(unit for unit in _WRITTEN_DURATIONS if micros % _DURATION_UNITS[unit] == 0)
    return f"{micros // _DURATION_UNITS[unit]}{unit}"


def read_size(raw: str | float) -> Size:
    """Parse a size: a string with a unit, or a plain number of bytes.

    >>> read_size("64KiB"), read_size("10MB"), read_size(12)
    (65536, 10000000, 12)
    """
    if isinstance(raw, str):
        size = _scaled(raw, _SIZE_UNITS, "b", "a size")
    elif isinstance(raw, float) and not raw.is_integer():
        raise ValueError("is not a whole number of bytes")
    else:
        size = int(_sane(raw, LARGEST))
    if size > LARGEST:
        raise ValueError("is larger than 1 EiB")
    return Size(size)


def write_size(value: Size) -> str:
    """Return a size as the shortest exact text, preferring binary units.

    >>> write_size(Size(1048576)), write_size(Size(10_000_000))
    ('1MiB', '10MB')
    """
    if value == 0:
        return "0B"
    exact = [
        f"{value // _SIZE_UNITS[unit.lower()]}{unit}"
        for unit in _WRITTEN_SIZES
        if value % _SIZE_UNITS[unit.lower()] == 0
    ]
    # "1000KiB" and "1024KB" are the same size and equally long; the binary one comes first.
    return min(exact, key=lambda text: len(text.rstrip("TGMKiB")))


def _sane(raw: float, most: float) -> float:
    # Written as "not >=" because NaN compares false with everything.
    if not raw >= 0:
        raise ValueError("is negative" if raw < 0 else "is not a number")
    if raw > most:
        raise ValueError("is too large")
    return raw


class PortRange(msgspec.Struct, frozen=True, order=True):
    """Ports from first to last, both included.

    >>> 8080 in PortRange(8000, 8999)
    True
    """

    first: int
    last: int

    def __contains__(self, port: int) -> bool:
        return self.first <= port <= self.last

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def read_ports(raw: str | int) -> PortRange:
    """Parse a port (``80``) or a range (``"8000-8999"``)."""
    found = _PORTS.fullmatch(str(raw))
    if found is None:
        raise ValueError("is not a port or a range of ports")
    ports = PortRange(int(found[1]), int(found[2] or found[1]))
    if not 1 <= ports.first <= ports.last <= 65_535:
        raise ValueError("is not a port or a range of ports between 1 and 65535")
    return ports


def read_network(raw: str) -> Network:
    """Return a network in its canonical form; a single address becomes a network of one."""
    import ipaddress

    try:
        return Network(str(ipaddress.ip_network(raw.strip(), strict=True)))
    except ValueError as error:
        if "host bits" in str(error):
            raise ValueError("has bits set beyond its prefix length") from None
        raise ValueError("is not an IP address or network") from None
