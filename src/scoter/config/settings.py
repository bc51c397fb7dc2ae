"""How a setting is declared: a field of a section, with its default, a description and bounds.

    class FetchSettings(Section, frozen=True):
        delay: timedelta = setting(timedelta(seconds=5), "Pause between ...", nutch=("fetcher.server.delay",))

A plug-in's settings are a plain struct: ``delay: Annotated[timedelta, Setting("Pause ...")] = ...``.

Reading, error messages, ``config show``, the docs page and the translation of Nutch site files are all derived from
these declarations, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Concatenate,
    Literal,
    ParamSpec,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec.structs import replace

_P = ParamSpec("_P")
_T = TypeVar("_T")
SAME_NAME = ("=",)
"""For ``nutch``: the Nutch property has the name of the setting, with dots instead of underscores."""
NutchUnit = Literal["", "ms", "s", "min", "kbit/s", "expression", "lines"]


class Setting(msgspec.Struct, frozen=True):
    """What is known about a setting besides its name, type and default.

    ``nutch`` is the Nutch property with the same meaning, followed by its older names; ``nutch_unit`` is the unit of
    Nutch's value if the type does not imply it. ``pattern`` is what a string must match, and ``form`` describes it.
    ``none`` is the word for "no value" if the type is optional; for paths it is the empty string. ``follows`` names the
    setting whose value this one takes if only that one is set, ``not_above`` one that it must not exceed. ``departs``
    is the reason for a default other than Nutch's. ``formerly`` has the full names that the setting of a section had in
    earlier versions, such as ``generate.min_interval``: they still work, with a warning. ``former_values`` translates
    the values that it had under them.
    """

    doc: str
    nutch: tuple[str, ...] = ()
    nutch_unit: NutchUnit = ""
    at_least: float | timedelta | None = None
    at_most: float | timedelta | None = None
    pattern: str = ""
    form: str = ""
    example: str = ""
    none: str = "off"
    follows: str = ""
    not_above: str = ""
    departs: str = ""
    formerly: tuple[str, ...] = ()
    former_values: Mapping[str, Any] = {}
    secret: bool = False


class _Declared(msgspec.Struct, frozen=True):
    """The right-hand side of a declaration in a section."""

    default: Any
    setting: Setting


def _with_default(make: Callable[_P, Setting]) -> Callable[Concatenate[_T, _P], _T]:
    def declare(default: _T, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return cast(_T, _Declared(default, make(*args, **kwargs)))

    return declare


setting = _with_default(Setting)
"""Declares a field of a section: takes its default, then what ``Setting`` takes."""


class _SectionMeta(msgspec.StructMeta):
    """Splits the declarations of a section into the struct's defaults and ``declared``."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        declared = {key: value for key, value in namespace.items() if isinstance(value, _Declared)}
        defaults = {key: value.default for key, value in declared.items()}
        settings = {key: value.setting for key, value in declared.items()}
        return super().__new__(mcls, name, bases, {**namespace, **defaults, "declared": settings}, **options)


class Section(msgspec.Struct, frozen=True, metaclass=_SectionMeta):
    """One table of the configuration file; the class docstring is its description in the docs."""

    declared: ClassVar[Mapping[str, Setting]] = {}


class SettingType(msgspec.Struct, frozen=True):
    """The type of a setting: one item or a list of items, perhaps optional, perhaps with fixed choices."""

    item: Any
    many: bool = False
    optional: bool = False
    choices: tuple[str, ...] = ()


class Field(msgspec.Struct, frozen=True):
    """One setting with its section, name, type and default."""

    section: str
    key: str
    type: SettingType
    default: Any
    setting: Setting

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"


def type_of(hint: Any) -> SettingType:
    """Return the type that a type hint declares, or raise ``TypeError`` if a setting cannot have it."""
    optional = False
    arguments = get_args(hint)
    if type(None) in arguments:
        rest = [argument for argument in arguments if argument is not type(None)]
        if len(rest) != 1:
            raise TypeError(f"a setting cannot have the type {hint}")
        optional, hint = True, rest[0]
    many = get_origin(hint) is tuple
    if many:
        items = get_args(hint)
        if len(items) != 2 or items[1] is not Ellipsis or optional:
            raise TypeError(f"a setting cannot have the type {hint}: declare lists as tuple[T, ...]")
        hint = items[0]
    if get_origin(hint) is Literal:
        words = get_args(hint)
        if not all(isinstance(word, str) for word in words):
            raise TypeError(f"a setting cannot have the type {hint}: choices must be strings")
        return SettingType(str, many, optional, words)
    if get_origin(hint) is not None:
        raise TypeError(f"a setting cannot have the type {hint}")
    return SettingType(hint, many, optional)


@lru_cache(maxsize=256)
def fields_of(section: str, struct: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return the settings of a section in the order of their declaration."""
    return tuple(_fields(section, struct, get_type_hints(struct, include_extras=True)))


def _fields(section: str, struct: type[msgspec.Struct], hints: dict[str, Any]) -> Iterator[Field]:
    declared: Mapping[str, Setting] = getattr(struct, "declared", {})
    for field in msgspec.structs.fields(struct):
        hint, about = hints[field.name], declared.get(field.name, Setting(""))
        if get_origin(hint) is Annotated:
            hint, *extras = get_args(hint)
            about = next((extra for extra in extras if isinstance(extra, Setting)), about)
        if about.nutch == SAME_NAME:
            about = replace(about, nutch=(f"{section}.{field.name.replace('_', '.')}",))
        type_ = type_of(hint)
        if type_.item is Path and about.none == "off":
            about = replace(about, none="")
        has_factory = field.default_factory is not msgspec.NODEFAULT
        yield Field(section, field.name, type_, field.default_factory() if has_factory else field.default, about)
