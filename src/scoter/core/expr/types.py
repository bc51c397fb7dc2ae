"""Type-check an expression against the columns; errors point at the place of the mistake."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from scoter.core.dates import parse_date
from scoter.core.datum import DbStatus, short_name
from scoter.core.display import count
from scoter.core.expr.syntax import Binary, ExprError, FunctionCall, Literal, Name, Node, OneOf, Unary, parse
from scoter.core.pattern import Pattern, compile_pattern
from scoter.errors import nearest


class ValueType(Enum):
    """The type of a value."""

    NUMBER = "a number"
    TEXT = "a string"
    TIME = "a time"
    DURATION = "a duration"
    TRUTH = "true or false"
    BYTES = "bytes"
    NULL = "null"
    METADATA = "metadata"
    NUMBERS = "numbers"


DATUM: Mapping[str, ValueType] = {
    "url": ValueType.TEXT,
    "key": ValueType.TEXT,
    "host": ValueType.TEXT,
    "status": ValueType.TEXT,
    "fetch_time": ValueType.TIME,
    "modified_time": ValueType.TIME,
    "retries": ValueType.NUMBER,
    "interval": ValueType.DURATION,
    "score": ValueType.NUMBER,
    "signature": ValueType.BYTES,
    "metadata": ValueType.METADATA,
}
"""The columns of a crawl datum."""

_NUTCH = {"fetchTime": "fetch_time", "modifiedTime": "modified_time", "fetchInterval": "interval"}
_MOST_SECONDS = 1e11  # three thousand years, well within what a time can hold
_STATUSES = tuple(short_name(status) for status in DbStatus)
FUNCTIONS: Mapping[str, tuple[tuple[ValueType, ...], ValueType]] = {
    "lower": ((ValueType.TEXT,), ValueType.TEXT),
    "length": ((ValueType.TEXT,), ValueType.NUMBER),
    "contains": ((ValueType.TEXT, ValueType.TEXT), ValueType.TRUTH),
    "startswith": ((ValueType.TEXT, ValueType.TEXT), ValueType.TRUTH),
    "endswith": ((ValueType.TEXT, ValueType.TEXT), ValueType.TRUTH),
    "min": ((ValueType.NUMBER, ValueType.NUMBER), ValueType.NUMBER),
    "max": ((ValueType.NUMBER, ValueType.NUMBER), ValueType.NUMBER),
    "if": ((ValueType.TRUTH, ValueType.NUMBER, ValueType.NUMBER), ValueType.NUMBER),
}
_NUMBER, _TIME, _DURATION = ValueType.NUMBER, ValueType.TIME, ValueType.DURATION
_RESULTS: Mapping[tuple[ValueType, str, ValueType], ValueType] = {
    **{(_NUMBER, sign, _NUMBER): _NUMBER for sign in "+-*/"},
    **{(_DURATION, sign, _DURATION): _DURATION for sign in "+-"},
    **{(_DURATION, sign, _NUMBER): _DURATION for sign in "*/"},
    (_NUMBER, "*", _DURATION): _DURATION,
    **{(_TIME, sign, _DURATION): _TIME for sign in "+-"},
    (_TIME, "-", _TIME): _DURATION,
}

Constant: TypeAlias = float | int | str | bool | datetime | timedelta | None


class ConstantValue(Struct, frozen=True):
    """A constant; ``is_now`` stands for the current time."""

    kind: ValueType
    value: Constant
    is_now: bool = False


class ColumnRef(Struct, frozen=True):
    """A column, or an entry of the metadata column."""

    kind: ValueType
    name: str
    entry: str | None = None


class Apply(Struct, frozen=True):
    """An operator or function over parts."""

    kind: ValueType
    sign: str
    parts: tuple[Typed, ...]
    pattern: Pattern | None = None


Typed: TypeAlias = ConstantValue | ColumnRef | Apply


def compile_expr(
    text: str, columns: Mapping[str, ValueType] = DATUM, results: Collection[ValueType] = (ValueType.TRUTH,)
) -> Typed:
    """Parse and check an expression over columns; its result must have one of some types.

    >>> compile_expr("score > 0.5").kind
    <ValueType.TRUTH: 'true or false'>
    """
    node = parse(text)
    found = _Checker(text, columns).kind_of(node)
    if found.kind not in results:
        expected = " or ".join(each.value for each in results)
        raise ExprError(f"the result is {found.kind.value}; it must be {expected}", text, 0)
    return found


class _Checker:
    def __init__(self, text: str, columns: Mapping[str, ValueType]) -> None:
        self._text = text
        self._columns = columns

    def kind_of(self, node: Node) -> Typed:
        match node:
            case Literal():
                return _constant(node)
            case Name():
                return self._column(node)
            case Unary("not", inner, at):
                return Apply(ValueType.TRUTH, "not", (self._need(inner, ValueType.TRUTH, at),))
            case Unary(_, inner, at):
                part = self.kind_of(inner)
                if part.kind not in (ValueType.NUMBER, ValueType.DURATION):
                    raise self._error(f"cannot negate {part.kind.value}", at)
                return Apply(part.kind, "negative", (part,))
            case Binary(sign=("and" | "or") as sign, left=left, right=right, at=at):
                sides = self._need(left, ValueType.TRUTH, at), self._need(right, ValueType.TRUTH, at)
                return Apply(ValueType.TRUTH, sign, sides)
            case Binary(sign="=~", left=left, right=right, at=at):
                return self._found(left, right, at)
            case Binary(sign=("+" | "-" | "*" | "/") as sign, left=left, right=right, at=at):
                return self._arithmetic(sign, self.kind_of(left), self.kind_of(right), at)
            case Binary(sign=sign, left=left, right=right, at=at):
                return self._compared(sign, self.kind_of(left), self.kind_of(right), at)
            case OneOf(inner, choices, at):
                part = self.kind_of(inner)
                compared = [self._compared("==", part, _constant(choice), at) for choice in choices]
                return Apply(ValueType.TRUTH, "in", (part, *(each.parts[1] for each in compared)))
            case FunctionCall():
                return self._called(node)

    def _column(self, node: Name) -> ColumnRef:
        name = _NUTCH.get(node.name, node.name)
        kind = self._columns.get(name)
        if kind is None:
            raise self._error(f"{node.name} is not a column; {_known(name, self._columns, 'columns')}", node.at)
        if kind in (ValueType.METADATA, ValueType.NUMBERS):
            if node.entry is None:
                hint = f'Write {name}.ENTRY or {name}["ENTRY"].'
                raise self._error(f"name an entry of {name}", node.at, hint)
            return ColumnRef(ValueType.TEXT if kind is ValueType.METADATA else ValueType.NUMBER, name, node.entry)
        if node.entry is not None:
            raise self._error(f"{name} has no entries", node.at)
        return ColumnRef(kind, name)

    def _need(self, node: Node, kind: ValueType, at: int) -> Typed:
        found = self.kind_of(node)
        if found.kind is not kind:
            raise self._error(f"expected {kind.value}, not {found.kind.value}", getattr(node, "at", at))
        return found

    def _found(self, left: Node, right: Node, at: int) -> Apply:
        part = self._need(left, ValueType.TEXT, at)
        if not (isinstance(right, Literal) and isinstance(right.value, str)):
            raise self._error("a pattern must be a string", at)
        try:
            pattern = compile_pattern(right.value)
        except ValueError as error:
            raise self._error(f"the pattern {error}", right.at) from error
        return Apply(ValueType.TRUTH, "=~", (part, ConstantValue(ValueType.TEXT, right.value)), pattern)

    def _arithmetic(self, sign: str, left: Typed, right: Typed, at: int) -> Apply:
        kind = _RESULTS.get((left.kind, sign, right.kind))
        if kind is None:
            raise self._error(f"cannot compute {left.kind.value} {sign} {right.kind.value}", at)
        return Apply(kind, sign, (left, right))

    def _compared(self, sign: str, left: Typed, right: Typed, at: int) -> Apply:
        left, right = self._alike(left, right, at), self._alike(right, left, at)
        if ValueType.NULL in (left.kind, right.kind):
            if sign not in ("==", "!="):
                raise self._error(f"cannot compare with null by {sign}; use == or !=", at)
            parts = (right if left.kind is ValueType.NULL else left, ConstantValue(ValueType.NULL, None))
            return Apply(ValueType.TRUTH, "missing" if sign == "==" else "present", parts)
        if left.kind is not right.kind:
            raise self._error(f"cannot compare {left.kind.value} with {right.kind.value}", at)
        if left.kind is ValueType.BYTES or (left.kind is ValueType.TRUTH and sign not in ("==", "!=")):
            raise self._error(f"cannot compare {left.kind.value} by {sign}", at)
        return Apply(ValueType.TRUTH, sign, (left, right))

    def _alike(self, part: Typed, other: Typed, at: int) -> Typed:
        """Convert a constant to the type that it is compared with: times, durations and statuses."""
        if not isinstance(part, ConstantValue):
            return part
        if other.kind is ValueType.TIME and isinstance(part.value, str):
            date = parse_date(part.value)
            if date is None:
                raise self._error(f"{part.value!r} is not a time", at, "Write '2026-03-01' or '2026-03-01T12:00'.")
            return ConstantValue(ValueType.TIME, date)
        if other.kind is ValueType.DURATION and part.kind is ValueType.NUMBER:
            return _duration(part.value if isinstance(part.value, int | float) else 0)
        if isinstance(other, ColumnRef) and other.name == "status" and isinstance(part.value, str):
            return self._status(part.value, at)
        return part

    def _status(self, text: str, at: int) -> ConstantValue:
        name = text.removeprefix("db_")
        if name not in _STATUSES:
            raise self._error(f"{text!r} is not a status; {_known(name, _STATUSES, 'statuses')}", at)
        return ConstantValue(ValueType.TEXT, name)

    def _called(self, node: FunctionCall) -> Apply:
        signature = FUNCTIONS.get(node.name)
        if signature is None:
            raise self._error(f"{node.name} is not a function; {_known(node.name, FUNCTIONS, 'functions')}", node.at)
        wanted, result = signature
        if len(wanted) != len(node.arguments):
            raise self._error(f"{node.name} takes {count(len(wanted), 'argument')}, not {len(node.arguments)}", node.at)
        parts = [self._need(each, kind, node.at) for each, kind in zip(node.arguments, wanted, strict=True)]
        return Apply(result, node.name, tuple(parts))

    def _error(self, message: str, at: int, hint: str = "") -> ExprError:
        return ExprError(message, self._text, at, hint)


def _known(name: str, names: Collection[str], kind: str) -> str:
    close = nearest(name, names)
    return f"did you mean {close}?" if close else f"the {kind} are {', '.join(names)}"


def _duration(seconds: float) -> ConstantValue:
    return ConstantValue(ValueType.DURATION, timedelta(seconds=max(min(seconds, _MOST_SECONDS), -_MOST_SECONDS)))


def _constant(node: Literal) -> ConstantValue:
    if node.is_now:
        return ConstantValue(ValueType.TIME, None, is_now=True)
    value = node.value
    match value:
        case None:
            return ConstantValue(ValueType.NULL, None)
        case bool():
            return ConstantValue(ValueType.TRUTH, value)
        case str():
            return ConstantValue(ValueType.TEXT, value)
        case _ if node.unit:
            return _duration(value)
        case _:
            return ConstantValue(ValueType.NUMBER, value)
