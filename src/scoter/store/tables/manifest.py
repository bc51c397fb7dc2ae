"""What a version says of itself: ``manifest.json``, and the names of versions and parts."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Struct

from scoter.errors import UserError
from scoter.plugins import Column
from scoter.store.tables.types import arrow_type

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
