"""Values of rows in the form in which people and programs read them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec


def plain(value: Any) -> Any:
    """Return a value as JSON has it: bytes as hex digits, times in UTC.

    >>> plain(b"\\x01\\xff"), plain(datetime(2026, 11, 15, 5, tzinfo=UTC)), plain({"a": (1, None)})
    ('01ff', '2026-11-15T05:00:00Z', {'a': [1, None]})
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return value.hex()
        case datetime():
            return moment(value)
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case _:
            return str(value)


def shown(value: Any) -> str:
    """Return a value as text: nothing where there is none, JSON where it has parts.

    >>> shown(None), shown({"a": 1}), shown(0.1 + 0.2), shown(True)
    ('', '{"a":1}', '0.3', 'true')
    """
    match value:
        case None:
            return ""
        case float():
            return f"{value:.6g}"
        case datetime():
            return moment(value.replace(microsecond=0))
        case _:
            found = plain(value)
            return found if isinstance(found, str) else msgspec.json.encode(found).decode()


def moment(value: datetime) -> str:
    """Return a time as text; one without a zone is taken as UTC."""
    known = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return known.astimezone(UTC).isoformat().replace("+00:00", "Z")
