"""Reading and writing one value by the shape its setting has.

``read`` turns what TOML, the environment or a flag gave into the typed value, or raises
``ValueError`` with the whole clause after the setting's name; ``write`` is its inverse, as TOML.
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

_SHOWN: Final = 60  # characters of a wrong value that an error repeats
_MOST_ITEMS: Final = 10_000
_ENGINES_MOST: Final = 2**63 - 1  # whole numbers that a job can compare with


def _flag(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    raise ValueError("is not true or false")


def _whole(raw: Any) -> int:
    if not isinstance(raw, int) or isinstance(raw, bool):
        raise ValueError("is not a whole number")
    if not -_ENGINES_MOST <= raw <= _ENGINES_MOST:
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
        raise ValueError("is not a text")
    if any("\ud800" <= character <= "\udfff" for character in raw):
        raise ValueError("holds bytes that are not UTF-8")
    return raw


def _quantity(read: Callable[[Any], Any], what: str) -> Callable[[Any], Any]:
    def reader(raw: Any) -> Any:
        if isinstance(raw, bool) or not isinstance(raw, str | int | float):
            raise ValueError(f"is not {what}")
        return read(raw)

    return reader


class ValueFormat(msgspec.Struct, frozen=True):
    """What the package knows of one type of value."""

    read: Callable[[Any], Any]
    write: Callable[[Any], str]
    accepts: str
    example: str
    units: str = ""


def quoted(text: object) -> str:
    """Return a TOML string; JSON's escapes are TOML's, but for DEL, which TOML wants escaped."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _ports(value: PortRange) -> str:
    return str(value) if value.first == value.last else quoted(value)


VALUE_FORMATS: Final[Mapping[Any, ValueFormat]] = {
    bool: ValueFormat(_flag, lambda value: "true" if value else "false", "true or false", "true"),
    int: ValueFormat(_whole, str, "a whole number", "10"),
    float: ValueFormat(_number, repr, "a number", "0.5"),
    str: ValueFormat(_text, quoted, "a text", '"words"'),
    Path: ValueFormat(_text, quoted, "a path", '"rules.txt"'),
    timedelta: ValueFormat(
        _quantity(read_duration, "a duration"),
        lambda value: quoted(write_duration(value)),
        "a duration",
        '"5s"',
        " (ms, s, m, h, d or w; a plain number is seconds)",
    ),
    Size: ValueFormat(
        _quantity(read_size, "a size"),
        lambda value: quoted(write_size(value)),
        "a size",
        '"1MiB"',
        " (B, KB, KiB, MB, MiB, GB or GiB; a plain number is bytes)",
    ),
    PortRange: ValueFormat(_quantity(read_ports, "a port"), _ports, "a port or a range of ports", '"8000-8999"'),
    Network: ValueFormat(lambda raw: read_network(_text(raw)), quoted, "an IP network", '"10.0.0.0/8"'),
}


def read(field: Field, given: GivenValue) -> Any:
    """Return the typed value, or raise ``ValueError`` with what is wrong with it and what is accepted."""
    shown = "" if field.setting.secret else f" = {_shown(given)}"
    try:
        return _read(field, given)
    except ValueError as error:
        raise ValueError(f"{field.name}{shown} {error}; it accepts {accepts(field)}") from None


def _read(field: Field, given: GivenValue) -> Any:
    kind, raw = field.kind, _raw(field.kind, given)
    if kind.optional and _is_none(field, raw):
        return None
    if not kind.many:
        return _item(field, raw, given.origin)
    if not isinstance(raw, list | tuple):
        raise ValueError("is not a list")
    if len(raw) > _MOST_ITEMS:
        raise ValueError(f"has more than {_MOST_ITEMS} items")
    return tuple(_item(field, item, given.origin) for item in raw)


def _raw(kind: SettingType, given: GivenValue) -> Any:
    """What the setting should look at: in the environment and in flags, quotes and brackets may be left out."""
    if given.text is None:
        return given.value
    if kind.many:
        return _list_of(kind, given)
    if kind.atom in (str, Path) and not isinstance(given.value, str):
        return given.text
    return given.value


def _list_of(kind: SettingType, given: GivenValue) -> Any:
    if not isinstance(given.value, str):
        # A lone 8080 for a list of ports is a number in TOML, and a list of one here.
        return given.value if isinstance(given.value, list | dict | bool) else [given.value]
    if given.value != given.text:
        return [given.value]
    words = [word.strip() for word in given.value.split(",") if word.strip()]
    return [_numeral(word) for word in words] if kind.atom in (int, float) else words


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
        # Nutch writes -1 for "off", and so do many hands.
        none == "off" and raw == -1 and not isinstance(raw, bool)
    )


def _item(field: Field, raw: Any, origin: SettingOrigin) -> Any:
    kind, setting = field.kind, field.setting
    value = VALUE_FORMATS[kind.atom].read(raw)
    if kind.choices and value not in kind.choices:
        close = nearest(value, kind.choices)
        raise ValueError("is not one of its words" + (f" (did you mean {quoted(close)}?)" if close else ""))
    if setting.pattern and not re.fullmatch(setting.pattern, value):
        raise ValueError("is not in the form it needs")
    if setting.at_least is not None and value < setting.at_least:
        raise ValueError("is too small")
    if setting.at_most is not None and value > setting.at_most:
        raise ValueError("is too large")
    return _placed(value, origin) if kind.atom is Path else value


def _placed(text: str, origin: SettingOrigin) -> Path:
    if not text or "\0" in text:
        raise ValueError("is not a path")
    return Path(origin.folder) / text


def write(kind: SettingType, value: Any, none: str = "off") -> str:
    """Return the value as TOML."""
    if value is None:
        return quoted(none)
    atom = VALUE_FORMATS[kind.atom]
    return f"[{', '.join(map(atom.write, value))}]" if kind.many else atom.write(value)


def accepts(field: Field, *, brief: bool = False) -> str:
    """Return what a setting accepts as the end of a sentence; in full it has units and an example."""
    kind, setting = field.kind, field.setting
    atom = VALUE_FORMATS[kind.atom]
    single = (setting.form or atom.accepts) + ("" if brief else atom.units) + _bounds(field)
    if kind.choices:
        single = _either(kind.choices)
    text = f"a list, each item {single}" if kind.many else single
    if kind.optional:
        text += f", or {quoted(setting.none)}"
    example = setting.example
    if not example and not brief and not kind.choices and kind.atom is not bool:
        example = _example(field)
    return f"{text}, such as {example}" if example else text


def _either(words: Sequence[str]) -> str:
    *first, last = map(quoted, words)
    return f"{', '.join(first)} or {last}" if first else last


def _example(field: Field) -> str:
    if field.default and field.default is not msgspec.NODEFAULT:
        return write(field.kind, field.default)
    example = VALUE_FORMATS[field.kind.atom].example
    return f"[{example}]" if field.kind.many else example


def _bounds(field: Field) -> str:
    low, high = field.setting.at_least, field.setting.at_most
    if low is None and high is None:
        return ""
    parts = [] if low is None else [f"from {_bound(field.kind, low)}"]
    parts += [] if high is None else [f"to {_bound(field.kind, high)}"]
    return " " + " ".join(parts)


def _bound(kind: SettingType, bound: Any) -> str:
    return VALUE_FORMATS[kind.atom].write(bound).strip('"') if kind.atom is not float else f"{bound:g}"


def _shown(given: GivenValue) -> str:
    text = given.text
    if text is None:
        text = json.dumps(given.value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
