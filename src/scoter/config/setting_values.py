"""Reading and writing the value of a setting.

``read`` turns a value from TOML, the environment or a flag into a typed one, or raises ``ValueError`` with what is
wrong and what is accepted. ``write`` is its inverse and returns TOML.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from scoter.config.settings import Field, SettingType
from scoter.config.sources import GivenValue, SettingOrigin
from scoter.config.units import (
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
from scoter.errors import nearest

_SHOWN: Final = 60  # characters of a wrong value that an error message repeats
_MOST_ITEMS: Final = 10_000
_MOST_INTEGER: Final = 2**63 - 1  # the largest that engines can compare


def _flag(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    raise ValueError("is not true or false")


def _whole(raw: Any) -> int:
    if not isinstance(raw, int) or isinstance(raw, bool):
        raise ValueError("is not a whole number")
    if not -_MOST_INTEGER <= raw <= _MOST_INTEGER:
        raise ValueError("is too large" if raw > 0 else "is too small")
    return raw


def _number(raw: Any) -> float:
    try:
        if isinstance(raw, int | float) and not isinstance(raw, bool) and math.isfinite(raw):
            return float(raw)
    except OverflowError:
        raise ValueError("is too large" if raw > 0 else "is too small") from None
    raise ValueError("is not a number")


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise ValueError("is not a string")
    if any("\ud800" <= character <= "\udfff" for character in raw):
        raise ValueError("contains bytes that are not UTF-8")
    return raw


def _quantity(read: Callable[[Any], Any], what: str) -> Callable[[Any], Any]:
    def reader(raw: Any) -> Any:
        if isinstance(raw, bool) or not isinstance(raw, str | int | float):
            raise ValueError(f"is not {what}")
        return read(raw)

    return reader


class ValueFormat(msgspec.Struct, frozen=True):
    """How values of one type are read, written and described."""

    read: Callable[[Any], Any]
    write: Callable[[Any], str]
    accepts: str
    example: str
    units: str = ""


def quoted(text: object) -> str:
    """Return a TOML string; its escapes are JSON's, except that DEL must be escaped too."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _ports(value: PortRange) -> str:
    return str(value) if value.first == value.last else quoted(value)


VALUE_FORMATS: Final[Mapping[Any, ValueFormat]] = {
    bool: ValueFormat(_flag, lambda value: "true" if value else "false", "true or false", "true"),
    int: ValueFormat(_whole, str, "a whole number", "10"),
    float: ValueFormat(_number, repr, "a number", "0.5"),
    str: ValueFormat(_text, quoted, "a string", '"words"'),
    Path: ValueFormat(_text, quoted, "a path", '"rules.txt"'),
    timedelta: ValueFormat(
        _quantity(read_duration, "a duration"),
        lambda value: quoted(write_duration(value)),
        "a duration",
        '"5s"',
        " (units: ms, s, m, h, d, w; a plain number is seconds)",
    ),
    Size: ValueFormat(
        _quantity(read_size, "a size"),
        lambda value: quoted(write_size(value)),
        "a size",
        '"1MiB"',
        " (units: B, KB, KiB, MB, MiB, GB, GiB; a plain number is bytes)",
    ),
    PortRange: ValueFormat(_quantity(read_ports, "a port"), _ports, "a port or a range of ports", '"8000-8999"'),
    Network: ValueFormat(lambda raw: read_network(_text(raw)), quoted, "an IP network", '"10.0.0.0/8"'),
}


def read(field: Field, given: GivenValue) -> Any:
    """Return the typed value, or raise ``ValueError`` with what is wrong and what is accepted."""
    shown = "" if field.setting.secret else f" = {_shown(given)}"
    try:
        return _read(field, given)
    except ValueError as error:
        raise ValueError(f"{field.name}{shown} {error}; it accepts {accepts(field)}") from None


def _read(field: Field, given: GivenValue) -> Any:
    type_, raw = field.type, _raw(field.type, given)
    if type_.optional and _is_none(field, raw):
        return None
    if not type_.many:
        return _item(field, raw, given.origin)
    if not isinstance(raw, list | tuple):
        raise ValueError("is not a list")
    if len(raw) > _MOST_ITEMS:
        raise ValueError(f"has more than {_MOST_ITEMS} items")
    return tuple(_item(field, item, given.origin) for item in raw)


def _raw(type_: SettingType, given: GivenValue) -> Any:
    """Return the value to read: in flags and the environment, quotes and brackets may be omitted."""
    if given.text is None:
        return given.value
    if type_.many:
        return _list_of(type_, given)
    if type_.item in (str, Path) and not isinstance(given.value, str):
        return given.text
    return given.value


def _list_of(type_: SettingType, given: GivenValue) -> Any:
    if not isinstance(given.value, str):
        # A single 8080 for a list of ports is a number in TOML, but means a list of one.
        return given.value if isinstance(given.value, list | dict | bool) else [given.value]
    if given.value != given.text:
        return [given.value]
    words = [word.strip() for word in given.value.split(",") if word.strip()]
    return [_numeral(word) for word in words] if type_.item in (int, float) else words


def _numeral(word: str) -> Any:
    for read_number in (int, float):
        try:
            return read_number(word)
        except ValueError:
            continue
    return word


def _is_none(field: Field, raw: Any) -> bool:
    none = field.setting.none
    return (isinstance(raw, str) and raw == none) or (
        # Nutch writes -1 for "off", and many people do too.
        none == "off" and raw == -1 and not isinstance(raw, bool)
    )


def _item(field: Field, raw: Any, origin: SettingOrigin) -> Any:
    type_, setting = field.type, field.setting
    value = VALUE_FORMATS[type_.item].read(raw)
    if type_.choices and value not in type_.choices:
        close = nearest(value, type_.choices)
        raise ValueError("is not a known value" + (f" (did you mean {quoted(close)}?)" if close else ""))
    if setting.pattern and not re.fullmatch(setting.pattern, value):
        raise ValueError("has the wrong form")
    if setting.at_least is not None and value < setting.at_least:
        raise ValueError("is too small")
    if setting.at_most is not None and value > setting.at_most:
        raise ValueError("is too large")
    return _absolute(value, origin) if type_.item is Path else value


def _absolute(text: str, origin: SettingOrigin) -> Path:
    if not text or "\0" in text:
        raise ValueError("is not a path")
    return Path(origin.folder) / text


def write(type_: SettingType, value: Any, none: str = "off") -> str:
    """Return the value as TOML."""
    if value is None:
        return quoted(none)
    format_ = VALUE_FORMATS[type_.item]
    return f"[{', '.join(map(format_.write, value))}]" if type_.many else format_.write(value)


def accepts(field: Field, *, brief: bool = False) -> str:
    """Return what a setting accepts, to end a sentence with; unless ``brief``, with units and an example."""
    type_, setting = field.type, field.setting
    format_ = VALUE_FORMATS[type_.item]
    single = (setting.form or format_.accepts) + ("" if brief else format_.units) + _bounds(field)
    if type_.choices:
        single = _either(type_.choices)
    text = f"a list, each item {single}" if type_.many else single
    if type_.optional:
        text += f", or {quoted(setting.none)}"
    example = setting.example
    if not example and not brief and not type_.choices and type_.item is not bool:
        example = _example(field)
    return f"{text}, such as {example}" if example else text


def _either(words: Sequence[str]) -> str:
    *first, last = map(quoted, words)
    return f"{', '.join(first)} or {last}" if first else last


def _example(field: Field) -> str:
    if field.default and field.default is not msgspec.NODEFAULT:
        return write(field.type, field.default)
    example = VALUE_FORMATS[field.type.item].example
    return f"[{example}]" if field.type.many else example


def _bounds(field: Field) -> str:
    bounds = (("from", field.setting.at_least), ("to", field.setting.at_most))
    return "".join(f" {word} {_bound(field.type, bound)}" for word, bound in bounds if bound is not None)


def _bound(type_: SettingType, bound: Any) -> str:
    return VALUE_FORMATS[type_.item].write(bound).strip('"') if type_.item is not float else f"{bound:g}"


def _shown(given: GivenValue) -> str:
    text = given.text
    if text is None:
        text = json.dumps(given.value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
