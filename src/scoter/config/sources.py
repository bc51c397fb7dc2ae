"""Where values come from: what a crawl has recorded, a TOML file, the environment, and ``-D`` flags.

Each reader returns the values with their origins. Only syntax is checked here; ``load`` checks names and values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from scoter.errors import ConfigError

PREFIX: Final = "SCOTER_"
CRAWL_SETTINGS: Final = "settings.toml"
"""The file in a crawl directory with the settings that the crawl was started with."""
LARGEST_FILE: Final = 1_048_576
_DEEPEST: Final = 8  # parts of a name; the longest Nutch names have six

_AT: Final = re.compile(r"(.*?) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
_HEADER: Final = re.compile(r"\s*\[\s*([^\[\]#]+?)\s*\]")
_KEY: Final = re.compile(r"""\s*([\w."'\- ]+?)\s*=""")


class SettingOrigin(msgspec.Struct, frozen=True):
    """Where a value was set; ``folder`` is where its relative paths start.

    >>> str(SettingOrigin("file", "scoter.toml", 3))
    'scoter.toml:3'
    """

    kind: Literal["default", "crawl", "file", "environment", "flag"]
    name: str = ""
    line: int = 0
    folder: str = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.line}" if self.line else self.name or self.kind


DEFAULT = SettingOrigin("default")


class GivenValue(msgspec.Struct, frozen=True, eq=False):
    """A value before it is typed; two are equal if their names and values are.

    ``text`` is the original text from the environment or the command line: a setting of type string takes it as it is,
    although ``2.0`` would be a number in TOML.
    """

    name: str
    value: Any
    origin: SettingOrigin
    text: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenValue) and (self.name, self.value) == (other.name, other.value)

    def __hash__(self) -> int:
        return hash(self.name)


def given_in_file(file: Path, kind: Literal["crawl", "file"] = "file") -> list[GivenValue]:
    """Return every value of a TOML file, with nested tables flattened into dotted names."""
    text = _text_of(file)
    table = _parsed(text, str(file))
    lines = _lines(text)
    # A pipe is in no folder.
    folder = _here() if str(file.parent) in ("/dev", "/dev/fd") else _here() / file.parent
    return [
        GivenValue(name, value, SettingOrigin(kind, str(file), lines.get(name, 0), str(folder)))
        for name, value in _flat(table)
    ]


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError(
            f"cannot determine the working directory: {error.strerror or error}",
            hint="Change to a folder that exists.",
        ) from None


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(
            f"cannot read the configuration file: {error.strerror or error}",
            where=str(file),
            hint="Pass the path of a readable TOML file: -c FILE",
        ) from None
    if len(data) > LARGEST_FILE:
        raise ConfigError("larger than 1 MiB: not a configuration file", where=str(file))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("not UTF-8 text", where=f"{file}:{line}", hint="Save the file as UTF-8.") from None


def _parsed(text: str, where: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError("tables or arrays are nested too deeply", where=where) from None
    except ValueError as error:  # tomllib's error, or a number beyond Python's limit of digits
        found = _AT.fullmatch(str(error))
        if found is None:
            raise ConfigError(f"not valid TOML: {error}", where=where) from None
        place = f"{where}:{found[2]}:{found[3]}" if found[2] else where
        end = "" if found[2] else " at the end of the file"
        problem = found[1][:1].lower() + found[1][1:]
        raise ConfigError(
            f"not valid TOML: {problem}{end}",
            where=place,
            hint='Write settings as key = value below their [section], such as delay = "5s" below [fetch].',
        ) from None


def _flat(table: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        path = (*above, key)
        # A plug-in's setting may itself be a table, so names end below [plugin.NAME].
        deepest = 3 if path[0] == "plugin" else _DEEPEST
        if isinstance(value, dict) and value and len(path) < deepest:
            yield from _flat(value, path)
        else:
            yield ".".join(path), value


def _lines(text: str) -> dict[str, int]:
    """Return the line on which each name is probably set; only error messages rely on it."""
    lines: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            section = _bare(header[1])
            lines.setdefault(section, number)
        elif key := _KEY.match(line):
            name = _bare(key[1])
            lines.setdefault(f"{section}.{name}" if section else name, number)
    return lines


def _bare(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))


def given_in_environment(environ: Mapping[str, str]) -> list[GivenValue]:
    """Return the values of ``SCOTER_SECTION__KEY`` and ``SCOTER_PLUGIN__NAME__KEY``."""
    folder = str(_here())
    return [
        _given_as_text(
            variable.removeprefix(PREFIX).lower().replace("__", "."),
            text,
            SettingOrigin("environment", variable, folder=folder),
        )
        for variable, text in sorted(environ.items())
        if variable.startswith(PREFIX) and "__" in variable
    ]


def given_in_flags(flags: Sequence[str]) -> tuple[list[GivenValue], list[str]]:
    """Return the values of ``section.key=value`` flags in order, and the mistakes in the others."""
    folder = str(_here())
    given: list[GivenValue] = []
    mistakes: list[str] = []
    for flag in flags:
        name, equals, text = flag.partition("=")
        if equals and "." in name.strip():
            name = name.strip()
            given.append(_given_as_text(name, text.strip(), SettingOrigin("flag", f"-D {name}", folder=folder)))
        else:
            mistakes.append(f"-D {flag[:60]}: expected section.key=value, such as -D fetch.delay=2s")
    return given, mistakes


def _given_as_text(name: str, text: str, origin: SettingOrigin) -> GivenValue:
    return GivenValue(name, _toml_value(text), origin, text)


def _toml_value(text: str) -> Any:
    """Parse a TOML value; anything else is a string."""
    import tomllib

    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    # A line break in the text could smuggle in a second key.
    return table["value"] if len(table) == 1 else text
