"""What a version says of itself: ``manifest.json``, and the names of versions and parts."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Struct

from scoter.errors import UsageError, UserError
from scoter.plugins import Column
from scoter.store.tables.schema import arrow_type
from scoter.store.tables.storage import TableStorage

FORMAT = 1
"""The format this code writes; it reads this one and those before it."""

CURRENT = "CURRENT"
LOCK = "LOCK"
MANIFEST = "manifest.json"
PARQUET = ".parquet"
OPEN = ".open"

_VERSION = re.compile(r"v(\d{6,12})")


class StoredColumn(Struct, frozen=True):
    """A column's name and type."""

    name: str
    type: str
    nullable: bool = True


class StoredPart(Struct, frozen=True):
    """A file of a version: its name there, and what it must be to be whole."""

    name: str
    size: int
    rows: int
    xxh3_128: str


class Manifest(Struct, frozen=True, kw_only=True):
    """All that is known of a version without opening its files."""

    format: int = FORMAT
    version: int
    previous: int | None
    created: datetime
    writer: str
    rows: int
    columns: tuple[StoredColumn, ...]
    plugin_columns: tuple[Column, ...] = ()
    applied: tuple[str, ...] = ()
    parts: tuple[StoredPart, ...] = ()

    @property
    def name(self) -> str:
        """The version's folder."""
        return version_name(self.version)

    def schema(self) -> Any:
        """Return the Arrow schema of the version's files."""
        return pa.schema([pa.field(each.name, arrow_type(each.type), each.nullable) for each in self.columns])


class _Format(Struct, frozen=True):
    format: int


def stored_columns(schema: Any) -> tuple[StoredColumn, ...]:
    """Return a schema in the form that a manifest keeps."""
    return tuple(StoredColumn(field.name, str(field.type), field.nullable) for field in schema)


def encode(manifest: Manifest) -> bytes:
    """Return the text of a manifest."""
    return msgspec.json.format(msgspec.json.encode(manifest, order="deterministic"), indent=1) + b"\n"


def decode(data: bytes, where: str) -> Manifest:
    """Return the manifest that a text is, or say what is wrong with it."""
    hint = "The file is damaged; the version before it may be whole: write its name into CURRENT to go back to it."
    try:
        found = msgspec.json.decode(data, type=_Format).format
        if found > FORMAT:
            message = f"the table is of format {found}; this Scoter reads formats up to {FORMAT}"
            raise UserError(message, where=where, hint="It was made by a newer Scoter: use that one, or a later.")
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as failure:
        raise UserError(f"the manifest cannot be read: {failure}", where=where, hint=hint) from None


def version_name(number: int) -> str:
    """Return the folder of a version.

    >>> version_name(12)
    'v000012'
    """
    return f"v{number:06d}"


def version_number(name: str) -> int | None:
    """Return the version that a folder's name means, if it means one.

    >>> version_number("v000012"), version_number("versions")
    (12, None)
    """
    found = _VERSION.fullmatch(name)
    return int(found[1]) if found else None


def part_name(number: int) -> str:
    """Return the name of a finished file.

    >>> part_name(1)
    'part-00001.parquet'
    """
    return f"part-{number:05d}{PARQUET}"


KEEP = 1
"""Versions before the current one that stay."""

_LEFT = f"{CURRENT}.new"  # what a kill leaves of a CURRENT that was never given its name


def current_version(place: TableStorage) -> int | None:
    """Return the version that ``CURRENT`` names; nothing when there is no ``CURRENT``."""
    data = place.read(CURRENT)
    if data is None:
        return None
    number = version_number(data.decode("ascii", "replace").strip())
    if number is None:
        hint = "Write the name of a whole version into it, such as v000001; a newline may follow."
        raise UserError(f"it does not name a version: {data[:40]!r}", where=place.location(CURRENT), hint=hint)
    return number


def read_manifest(place: TableStorage, version: int) -> Manifest | None:
    """Return what a version says of itself; nothing when it is not there."""
    name = f"{version_name(version)}/{MANIFEST}"
    data = place.read(name)
    return None if data is None else decode(data, place.location(name))


def current_manifest(place: TableStorage) -> Manifest | None:
    """Return the manifest of the current version, or nothing in a table that has none yet."""
    version = current_version(place)
    if version is None:
        return None
    found = read_manifest(place, version)
    if found is None:
        raise lost_manifest(place, version)
    return found


def lost_manifest(place: TableStorage, version: int) -> UserError:
    """Return the error of a current version that has no manifest."""
    hint = "The table is damaged; to go back to the version before, write its name into CURRENT."
    where = place.location(f"{version_name(version)}/{MANIFEST}")
    return UserError("the manifest of the current version is missing", where=where, hint=hint)


def no_table(place: TableStorage) -> UsageError:
    """Return the error of a folder without a current version; it says what is there instead."""
    entries = place.entries()
    if entries is None:
        return UsageError("there is no table here: no such folder", where=place.location())
    if any(version_number(name) for name in entries):
        message = "the table has no finished version: its first writer has not ended, or was killed"
        return UsageError(message, where=place.location(), hint="Run what writes it again.")
    hint = "A table's folder holds a file CURRENT and the folders of its versions."
    return UsageError("this folder is not a table", where=place.location(), hint=hint)


def refuse_foreign(place: TableStorage) -> None:
    """Raise if a folder is something else than a table, or than a place for one."""
    entries = place.entries() or {}
    if CURRENT not in entries:
        foreign = sorted(name for name in entries if version_number(name) is None and name not in (LOCK, _LEFT))
        if foreign:
            hint = "Choose an empty folder, or one that does not exist."
            raise UsageError(f"this folder is not a table: it holds {foreign[0]}", where=place.location(), hint=hint)


def sweep(place: TableStorage, current: Manifest | None, keep: int = KEEP) -> tuple[list[str], int]:
    """Remove versions that were never current or are no longer kept, unless somebody reads them.

    Returns the names of those removed, and the highest version there was. Only for whoever holds the table's lock.
    """
    entries = place.entries() or {}
    numbers = {number: name for name in sorted(entries) if (number := version_number(name)) is not None}
    if current is None:
        _refuse_lost_current(place, numbers)
    if _LEFT in entries:
        place.remove(_LEFT)
    kept = _chain(place, current, keep)
    stray = [name for number, name in numbers.items() if number not in kept]
    return [name for name in stray if place.remove_version(name, MANIFEST)], max(numbers, default=0)


def _refuse_lost_current(place: TableStorage, numbers: Mapping[int, str]) -> None:
    """Raise if a folder without ``CURRENT`` must have had one: its versions are no strays, and must not be swept."""
    for number, name in numbers.items():
        manifest = read_manifest(place, number)
        if manifest is not None and manifest.previous is not None:
            hint = "Write the name of the newest whole version into it, with a newline."
            message = f"it is missing, though the table had versions ({name} is one)"
            raise UserError(message, where=place.location(CURRENT), hint=hint)


def _chain(place: TableStorage, current: Manifest | None, keep: int) -> set[int]:
    """Return the current version and those before it; the last of them is kept whatever its manifest looks like."""
    kept = {current.version} if current else set()
    while current is not None and current.previous is not None and len(kept) <= keep:
        kept.add(current.previous)
        current = read_manifest(place, current.previous) if len(kept) <= keep else None
    return kept
