"""How a setting is declared: a field of a section, with its sentence and bounds beside it.

    class Fetch(Section, frozen=True):
        delay: Annotated[timedelta, Setting("Pause between ...", nutch=("fetcher.server.delay",))] = ...

Everything else (reading, error messages, ``config show``, the docs page, the translation of a Nutch
site file) is derived from these declarations, so that none of them can drift from another.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import msgspec.structs

NutchUnit = Literal["", "ms", "s", "min", "kbit/s", "expression", "lines"]


class Setting(msgspec.Struct, frozen=True):
    """What is known of a setting beyond its name, type and default.

    ``nutch`` holds the Nutch property of the same meaning first, then its older spellings;
    ``nutch_unit`` says how Nutch writes the value where the type does not tell.
    ``pattern`` is what a text must match, and ``form`` says it in words.
    ``none`` is the word that stands for "no value" where the type allows none.
    ``follows`` names the setting whose value this one takes as long as nobody sets it.
    ``departs`` is the reason for a default other than Nutch's.
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
    secret: bool = False


class Section(msgspec.Struct, frozen=True):
    """One table of the configuration file; the class docstring is what the docs say of it."""


class SettingType(msgspec.Struct, frozen=True):
    """The shape of a value: one atom or a list of them, perhaps none at all."""

    atom: Any
    many: bool = False
    optional: bool = False
    choices: tuple[str, ...] = ()


class Field(msgspec.Struct, frozen=True):
    """One setting as the rest of the package sees it."""

    section: str
    key: str
    kind: SettingType
    default: Any
    setting: Setting

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"


def kind_of(hint: Any) -> SettingType:
    """Return the shape that a type hint asks for; ``TypeError`` for one that no setting may have."""
    optional = False
    arguments = get_args(hint)
    if type(None) in arguments:
        rest = [argument for argument in arguments if argument is not type(None)]
        if len(rest) != 1:
            raise TypeError(f"{hint} is no type for a setting")
        optional, hint = True, rest[0]
    many = get_origin(hint) is tuple
    if many:
        items = get_args(hint)
        if len(items) != 2 or items[1] is not Ellipsis or optional:
            raise TypeError(f"{hint} is no type for a setting: lists are tuple[T, ...]")
        hint = items[0]
    if get_origin(hint) is Literal:
        words = get_args(hint)
        if not all(isinstance(word, str) for word in words):
            raise TypeError(f"{hint} is no type for a setting: choices are texts")
        return SettingType(str, many, optional, words)
    if get_origin(hint) is not None:
        raise TypeError(f"{hint} is no type for a setting")
    return SettingType(hint, many, optional)


@lru_cache(maxsize=256)
def fields_of(section: str, struct: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return the settings of a section in the order of their declaration."""
    hints = get_type_hints(struct, include_extras=True)
    return tuple(_fields(section, struct, hints))


def _fields(section: str, struct: type[msgspec.Struct], hints: dict[str, Any]) -> Iterator[Field]:
    for field in msgspec.structs.fields(struct):
        hint, setting = hints[field.name], Setting("")
        if get_origin(hint) is Annotated:
            hint, *extras = get_args(hint)
            setting = next((extra for extra in extras if isinstance(extra, Setting)), setting)
        default = field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        yield Field(section, field.name, kind_of(hint), default, setting)
