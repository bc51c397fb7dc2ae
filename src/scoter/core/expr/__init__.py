"""A small typed language to select records by: ``score > 0.5 and fetch_time < now - 7d``.

It is read by hand and checked against the columns' types before anything runs; nothing is ever evaluated as Python.
Where a value is missing, a comparison with it is neither true nor false, as in SQL, and the record is not selected.

    or and not (also || && !)   == != < <= > >=   =~ (a pattern is found)   in [..]   + - * /
    numbers 1 2.5e3   texts 'a' "a"   durations 30s 15m 12h 7d 2w   true false null now
    times '2026-03-01' or '2026-03-01T12:00' beside a time
    metadata.lang or metadata["lang"]   lower(t) length(t) contains(t, t) startswith(t, t) endswith(t, t)
"""

from __future__ import annotations

from scoter.core.expr.rows import matches
from scoter.core.expr.syntax import ExprError
from scoter.core.expr.types import DATUM, Typed, ValueType, compile_expr

__all__ = ["DATUM", "ExprError", "Typed", "ValueType", "compile_expr", "matches"]
