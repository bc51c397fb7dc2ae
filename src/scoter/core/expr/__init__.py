"""A small typed language to select records by: ``score > 0.5 and fetch_time < now - 7d``.

It is type-checked against the columns before anything runs, and never evaluated as Python. As in SQL, a comparison with
a missing value is neither true nor false, and the record is not selected.

    or and not (also || && !)   == != < <= > >=   =~ (a pattern matches)   in [..]   + - * /
    numbers 1 2.5e3   strings 'a' "a"   durations 30s 15m 12h 7d 2w   true false null now
    times '2026-03-01' or '2026-03-01T12:00', compared with a time
    metadata.lang or metadata["lang"]   lower(t) length(t) contains(t, t) startswith(t, t) endswith(t, t)
    min(n, n) max(n, n) if(condition, n, n)

- ``syntax``  parses the text of an expression
- ``types``   type-checks it against the columns
- ``rows``    evaluates it for one record
"""

from __future__ import annotations

from scoter.core.expr.rows import matches
from scoter.core.expr.syntax import ExprError
from scoter.core.expr.types import DATUM, Typed, ValueType, compile_expr

__all__ = ["DATUM", "ExprError", "Typed", "ValueType", "compile_expr", "matches"]
