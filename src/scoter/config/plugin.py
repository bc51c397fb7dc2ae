"""A plug-in's own settings, read from ``[plugin.NAME]`` into the struct it declares.

The struct is a plain ``msgspec.Struct``; its fields may have any type a setting may have, and may
carry ``Annotated[..., Setting(...)]`` for a sentence and bounds. Units, flags, environment and error
messages are those of every other setting.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from scoter.config.load import plugin_key
from scoter.config.sections import Config
from scoter.config.settings import Field, fields_of
from scoter.config.values import VALUE_FORMATS, accepts, read
from scoter.errors import ConfigError, PluginError, nearest

Struct = TypeVar("Struct", bound=msgspec.Struct)


def plugin_settings(config: Config, name: str, struct: type[Struct]) -> Struct:
    """Return the settings of the plug-in ``name`` as an instance of its struct."""
    fields = _fields(name, struct)
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for key, given in config.plugin.get(plugin_key(name), {}).items():
        field = fields.get(key)
        try:
            if field is None:
                raise ValueError(_unknown(name, key, fields))
            values[key] = read(field, given)
        except ValueError as error:
            mistakes.append(f"{given.origin}: {error}")
    mistakes += [
        f"plugin.{name}: {field.key} must be set; it accepts {accepts(field)}"
        for field in fields.values()
        if field.default is msgspec.NODEFAULT and field.key not in config.plugin.get(plugin_key(name), {})
    ]
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    try:
        return struct(**values)
    except (TypeError, ValueError) as error:  # how the __post_init__ of a msgspec struct refuses its values
        raise ConfigError(str(error), where=f"plugin.{name}") from error


def _fields(name: str, struct: type[msgspec.Struct]) -> dict[str, Field]:
    try:
        fields = fields_of(f"plugin.{name}", struct)
    except (TypeError, NameError) as error:
        raise PluginError(f"the Settings of the plug-in {name} cannot be read: {error}") from None
    for field in fields:
        if field.kind.atom not in VALUE_FORMATS:
            raise PluginError(
                f"the Settings of the plug-in {name} cannot be read: {field.key} has a type that no setting has"
            )
    return {field.key: field for field in fields}


def _unknown(name: str, key: str, fields: dict[str, Field]) -> str:
    if not fields:
        return f"plugin.{name}.{key} is not a setting; the plug-in {name} has none"
    close = nearest(key, fields)
    known = f"did you mean plugin.{name}.{close}?" if close else f"{name} has {', '.join(fields)}"
    return f"plugin.{name}.{key} is not a setting; {known}"
