"""Expressions of Ibis that are recorded, and built only if something needs them.

Importing Ibis and compiling an expression takes longer than a small crawl. Therefore engines hand out recorded tables,
and jobs call this module's ``ibis``, which records what it is asked for. The embedded engine stores the SQL of an
expression under a digest of the record (``query_cache.py``), so that next time neither Ibis nor its compiler is loaded.

A record is used like the expression that it stands for. Ibis itself takes it for that expression, too, so that code
which imports Ibis can mix both; what contains a part that was not recorded is just not cached.

>>> urls = table("urls", {"url": "TEXT", "score": "DOUBLE"}, is_fixed=True, make=lambda: None)
>>> wanted = urls.filter(urls.score > 0.5).order_by(ibis.desc("score"))
>>> wanted
<recorded expression>
>>> digest(wanted) == digest(urls.filter(urls.score > 0.5).order_by(ibis.desc("score")))
True
>>> digest(wanted) == digest(urls.filter(urls.score > 1).order_by(ibis.desc("score")))
False
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from functools import wraps
from hashlib import blake2b
from importlib import import_module
from types import FunctionType, LambdaType
from typing import Any, Final, NamedTuple

from scoter.plugins.query_cache import QUERIES

_CONSTANTS: Final = frozenset({type(None), bool, int, float, str, bytes, date, timedelta, type(...)})
_UNRECORDED: Final = frozenset({
    "compile", "equals", "execute", "get_backend", "get_name", "has_name", "op", "schema", "to_pyarrow", "unbind",
})  # fmt: skip
"""Methods that ask about an expression instead of making another one."""

_OWN_CODE: Final = frozenset({"pandas", "pyarrow", "python"})
"""Kinds of ``ibis.udf``: functions that run Python code."""


class Unrecordable(Exception):
    """An expression has a part whose meaning cannot be written down."""


class RecordedTable(NamedTuple):
    """A table of an engine."""

    name: str
    columns: Mapping[str, str]
    is_fixed: bool
    """The name is part of what an expression means; otherwise it stands for any table with these columns."""
    make: Callable[[], Any]
    """Returns the table as an expression of Ibis."""


class Recorded:
    """A recorded step: the module ``ibis``, a table, or what follows from other steps."""

    __slots__ = ("_built", "_kind", "_parts")

    def __init__(self, kind: str, *parts: Any) -> None:
        self._kind = kind
        self._parts = parts
        self._built: Any = None

    def __repr__(self) -> str:
        return "<recorded expression>"

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # Ibis asks for the class of its arguments. Without Ibis, nobody can ask for its classes.
        return type(real(self)) if "ibis" in sys.modules and self._kind != "parameter" else Recorded

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(real(self), name) if name in _UNRECORDED else Recorded("attribute", self, name)

    def __getitem__(self, key: Any) -> Recorded:
        return Recorded("item", self, key)

    def __call__(self, *arguments: Any, **named: Any) -> Recorded:
        return Recorded("call", self, arguments, named)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of a table expression."""
        if self._kind == "table":
            return tuple(self._parts[0].columns)
        key = digest(self)
        known = QUERIES.get(f"{key}-columns") if key else None
        if known is None:
            known = list(real(self).columns)
            if key:
                QUERIES.put(f"{key}-columns", known)
        return tuple(known)

    def __iter__(self) -> Iterator[Any]:
        return iter(real(self))

    def __bool__(self) -> bool:
        return bool(real(self))  # of an answer, such as whether a type is boolean; Ibis refuses that of an expression

    __hash__ = object.__hash__


def _operator(name: str) -> tuple[Callable[..., Recorded], Callable[..., Recorded]]:
    def applied(self: Recorded, *others: Any) -> Recorded:
        return Recorded("operator", name, (self, *others))

    def reflected(self: Recorded, other: Any) -> Recorded:
        return Recorded("operator", name, (other, self))

    return applied, reflected


for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "invert"):
    setattr(Recorded, f"__{_name}__", _operator(_name)[0])
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"):
    _left, _right = _operator(_name)
    setattr(Recorded, f"__{_name.rstrip('_')}__", _left)
    setattr(Recorded, f"__r{_name.rstrip('_')}__", _right)

ibis: Any = Recorded("module", "ibis")
"""The module ``ibis``, recorded. Only its functions that make expressions and types are of use."""
kinds: Any = Recorded("module", "ibis.expr.datatypes")
"""Its data types."""

_TIME = kinds.Timestamp("UTC", 6)


def time(moment: datetime) -> Any:
    """Return a time as a record. Digests do not depend on it, because most times are different in every run."""
    return Recorded("time", moment.astimezone(UTC))


def table(name: str, columns: Mapping[str, str], *, is_fixed: bool, make: Callable[[], Any]) -> Any:
    """Return a table of an engine as a record."""
    return Recorded("table", RecordedTable(name, columns, is_fixed, make))


def is_expression(value: Any) -> bool:
    """Return whether a value is an expression, recorded or not."""
    return type(value) is Recorded or callable(getattr(value, "op", None))


def real(value: Any) -> Any:
    """Return the expression that a record stands for; any other value as it is.

    >>> real(ibis.literal(1) + 2).equals(real(ibis.literal(1) + ibis.literal(2)))
    True
    """
    if type(value) is not Recorded:
        return _replaced(value)
    if value._built is None:
        for step in _steps(value):
            if step._built is None:
                step._built = _make(step)
    return value._built


def _make(step: Recorded) -> Any:
    kind, parts = step._kind, step._parts
    match kind:
        case "module":
            return import_module(parts[0])
        case "table":
            return parts[0].make()
        case "attribute":
            return getattr(real(parts[0]), parts[1])
        case "item":
            return real(parts[0])[real(parts[1])]
        case "call":
            return real(parts[0])(*real(parts[1]), **real(parts[2]))
        case "time":
            return real(ibis.literal(parts[0], type=_TIME))
        case "operator":
            return getattr(import_module("operator"), parts[0])(*real(parts[1]))
        case _:
            raise Unrecordable(kind)


def _replaced(value: Any) -> Any:
    """Return a value with the expressions for the records in it."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind(map(real, value))
    if kind is dict:
        return {name: real(each) for name, each in value.items()}
    if kind is slice:
        return slice(real(value.start), real(value.stop), real(value.step))
    if kind is FunctionType:

        @wraps(value)
        def called(*arguments: Any, **named: Any) -> Any:
            return real(value(*arguments, **named))

        return called
    return value


def _steps(last: Recorded, known: Mapping[int, Any] | None = None) -> Iterator[Recorded]:
    """Yield the steps that lead to a record, each once, after those that it follows from."""
    seen = set() if known is None else set(known)
    waiting: list[tuple[Recorded, bool]] = [(last, False)]
    while waiting:
        step, is_ready = waiting.pop()
        if is_ready:
            yield step
        elif id(step) not in seen:
            seen.add(id(step))
            waiting.append((step, True))
            waiting.extend((each, False) for each in _inside(step._parts))


def _inside(values: Iterable[Any]) -> Iterator[Recorded]:
    for value in values:
        kind = type(value)
        if kind is Recorded:
            yield value
        elif kind is tuple or kind is list:
            yield from _inside(value)
        elif kind is dict:
            yield from _inside(value.values())
        elif kind is slice:
            yield from _inside((value.start, value.stop, value.step))


class Writing:
    """The record of an expression as text, with the tables that it reads."""

    def __init__(self, whole: Recorded) -> None:
        self.lines: list[str] = []
        self.tables: list[RecordedTable] = []
        """Those whose names do not matter, in the order in which they are first read."""
        self.times: list[datetime] = []
        self._numbers: dict[int, int] = {}
        self._parameters: list[Recorded] = []  # kept, so that their ids stay theirs
        self._write(whole)

    def _write(self, last: Recorded) -> None:
        for step in _steps(last, self._numbers):
            if step._kind == "attribute" and step._parts[1] in _OWN_CODE and step._parts[0]._kind == "attribute":
                raise Unrecordable("a function whose code would have to be known")
            self._numbers[id(step)] = len(self.lines)
            self.lines.append(f"{step._kind} {self._step(step._kind, step._parts)}")

    def _step(self, kind: str, parts: tuple[Any, ...]) -> str:
        if kind == "table":
            return self._table(parts[0])
        if kind == "time":
            if parts[0] not in self.times:
                self.times.append(parts[0])
            return str(self.times.index(parts[0]))
        return self._text(parts)

    def _table(self, found: RecordedTable) -> str:
        if found.is_fixed:
            return f"{found.name!r} {[*found.columns.items()]!r}"
        self.tables.append(found)
        return f"{len(self.tables)} {[*found.columns.items()]!r}"

    def _text(self, value: Any) -> str:
        kind = type(value)
        if kind is Recorded:
            return f"#{self._numbers[id(value)]}"
        if kind in _CONSTANTS:
            return f"{kind.__name__}:{value!r}"
        if kind is datetime and type(value.tzinfo) in (type(None), timezone):
            return repr(value)
        if kind is list or kind is tuple:
            return f"{kind.__name__}({','.join(map(self._text, value))})"
        if kind is dict:
            return f"dict({','.join(f'{name!r}={self._text(each)}' for name, each in value.items())})"
        if kind is slice:
            return f"slice({self._text((value.start, value.stop, value.step))})"
        if kind is LambdaType:
            return self._function(value)
        raise Unrecordable(str(kind))

    def _function(self, function: FunctionType) -> str:
        """Write what a function makes of its arguments."""
        code = function.__code__
        if code.co_flags & 0x0C or code.co_kwonlyargcount or function.__defaults__:
            raise Unrecordable("a function with optional arguments")
        given = [Recorded("parameter", len(self._parameters) + number) for number in range(code.co_argcount)]
        self._parameters += given
        result = function(*given)
        for each in _inside([result]):
            self._parameters.append(each)
            self._write(each)
        return f"function({function.__name__},{code.co_argcount},{self._text(result)})"


class Query(NamedTuple):
    """What a record says, apart from what differs between runs."""

    digest: str
    """Equal digests mean the same expression, over any tables with the same columns, and for any times."""
    tables: Sequence[RecordedTable]
    times: Sequence[datetime]


def written(expression: Any) -> Query | None:
    """Return a record as a query, or ``None`` if it cannot be written down."""
    if type(expression) is not Recorded:
        return None
    try:
        found = Writing(expression)
    except (Unrecordable, TypeError, AttributeError, ValueError):  # the latter from functions that expect a real one
        return None
    digest = blake2b("\n".join(found.lines).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
    return Query(digest, found.tables, found.times)


def digest(expression: Any) -> str | None:
    """Return the digest of a record, or ``None`` if it cannot be written down."""
    found = written(expression)
    return None if found is None else found.digest
