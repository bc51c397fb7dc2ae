"""Numbers as people read them: counts with correct plurals, sizes, durations, rates and ages.

Everything that prints a number for a person uses these functions, so that a size or a duration looks the same in every
message. Text that programs read, such as the values in a settings file, is formatted elsewhere.
"""

from __future__ import annotations

from datetime import datetime, timedelta

_SIZE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
# A unit of time and the next smaller one, each with its length in seconds.
_TIME_UNITS = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, in the singular for 1; irregular plurals are given.

    >>> count(1, "URL"), count(12_000, "URL"), count(0, "entry", "entries")
    ('1 URL', '12,000 URLs', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(number: float) -> str:
    """Return a number of bytes in binary units, with one decimal below 10.

    >>> size(900), size(1_536), size(24 * 2**20), size(10 * 2**30)
    ('900 B', '1.5 KiB', '24 MiB', '10 GiB')
    """
    unit = 0
    while unit < len(_SIZE_UNITS) - 1 and round(number) >= 1024:
        number /= 1024
        unit += 1
    return f"{_short(number) if unit else f'{number:.0f}'} {_SIZE_UNITS[unit]}"


def duration(length: timedelta | float) -> str:
    """Return a duration (a timedelta or seconds) with its two largest units, or with one below a minute.

    >>> duration(0.000042), duration(0.0083), duration(5.06), duration(125), duration(timedelta(days=3, hours=2))
    ('42 µs', '8.3 ms', '5.1 s', '2 min 5 s', '3 d 2 h')
    """
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if seconds <= 0:
        return "0 s"
    if seconds < 0.000_999_5:
        return f"{seconds * 1_000_000:.0f} µs"
    if seconds < 0.999_5:
        return f"{_short(seconds * 1_000)} ms"
    if seconds < 59.5:
        return f"{_short(seconds)} s"
    whole = round(seconds)
    name, unit, smaller_name, smaller = next(each for each in _TIME_UNITS if whole >= each[1])
    rest = whole % unit // smaller
    return f"{whole // unit:,} {name}" + (f" {rest} {smaller_name}" if rest else "")


def ago(moment: datetime, now: datetime) -> str:
    """Return how long ago a moment was, or how far ahead it is, in whole units.

    >>> now = datetime(2026, 11, 16)
    >>> ago(now - timedelta(hours=50), now), ago(now + timedelta(minutes=3), now), ago(now, now)
    ('2 d ago', 'in 3 min', 'now')
    """
    seconds = int(abs(now - moment).total_seconds())
    for name, unit in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if seconds >= unit:
            length = f"{seconds // unit:,} {name}"
            return f"{length} ago" if moment < now else f"in {length}"
    return "now"


def rate(number: float, seconds: float) -> str:
    """Return how many per second, with one decimal below 10.

    >>> rate(25, 10), rate(12_000, 10), rate(3, 0.5), rate(0, 0)
    ('2.5/s', '1,200/s', '6/s', '0/s')
    """
    return f"{_short(number / seconds) if seconds > 0 else '0'}/s"


def _short(number: float) -> str:
    """Return a number without decimals from 10 up, with at most one below.

    >>> _short(9.96), _short(9.94), _short(2.0), _short(1_200.4)
    ('10', '9.9', '2', '1,200')
    """
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.1f}".removesuffix(".0")
