"""The context that a request carries."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from scoter.batch.worker.records import RequestContext, decode_context, encode_context
from scoter.store.tables.schema import arrow_type


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int64", -5),
        ("bool", True),
        ("utf8", "\u00e9"),
        ("binary", b"\xff"),
        ("date32", date(1960, 2, 29)),
        ("decimal128(10, 2)", Decimal("-1.50")),
        ("timestamp[us, tz=UTC]", datetime(1960, 1, 1, 1, 2, 3, 4, tzinfo=UTC)),
        ("timestamp[us]", datetime(2026, 1, 1, 1, 2, 3, 4)),  # noqa: DTZ001 - as a column without a zone has it
        ("time64[us]", time(1, 2, 3, 4)),
        ("duration[us]", timedelta(days=-1, microseconds=7)),
        ("map<utf8, date32>", [("a", date(2026, 1, 1)), ("b", None)]),
        ("list<struct<at: date32, names: list<utf8>>>", [{"at": date(2026, 1, 1), "names": ["a"]}]),
    ],
)
def test_plugin_values_survive_encoding(kind: str, value: Any) -> None:
    carried = decode_context(encode_context(RequestContext(extra={"own": value}))).extra

    assert carried == {"own": value}
    assert pa.array([carried["own"]], arrow_type(kind)).to_pylist() == [value]
