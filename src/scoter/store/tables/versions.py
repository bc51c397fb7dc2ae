"""Manifests, the names of versions and parts, and which version is current, kept or removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Struct

from scoter.errors import DamagedManifest, UsageError, UserError
from scoter.plugins import Column
from scoter.store.formats import check_json_format
from scoter.store.tables.schema import arrow_type
from scoter.store.tables.storage import TableStorage

FORMAT = 2
"""The newest format this code writes and reads; it reads older ones, too."""
PLAIN_FORMAT = 1
"""The format of a version whose files are all its own and have only current rows."""

CURRENT = "CURRENT"
LOCK = "LOCK"
MANIFEST = "_manifest.json"
"""pandas, Arrow and Spark ignore names that start with an underscore when they read a folder."""
FORMER_MANIFEST = "manifest.json"
REPLACED = "_replaced"
PARQUET = ".parquet"
OPEN = ".open"

_VERSION = re.compile(r"v(\d{6,12})")


class StoredColumn(Struct, frozen=True):
    """A column's name and type."""

    name: str
    type: str
    nullable: bool = True


class StoredPart(Struct, frozen=True, omit_defaults=True):
    """A file of a version, with its size, rows and checksum.

    ``name`` starts with a version's name if the file is in the folder of that version.
    """

    name: str
    size: int
    rows: int
    xxh3_128: str
    lowest: str | None = None
    """The lowest key, if known."""
    highest: str | None = None
    is_delta: bool = False
    """Whether the rows were added later than those of the base; their keys may be anywhere in the table."""
    replaced: int = 0
    """Rows that are no longer valid, because another part has a newer one or because they were removed."""


class ReplacedRows(Struct, frozen=True):
    """A file with the positions of replaced rows, and the parts that it mentions."""

    name: str
    size: int
    rows: int
    xxh3_128: str
    parts: tuple[str, ...]


class Manifest(Struct, frozen=True, kw_only=True):
    """The description of a version, read without opening its files."""

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
    properties: Mapping[str, str] = {}
    """What the writer records about the version as a whole."""
    replaced: tuple[ReplacedRows, ...] = ()

    @property
    def name(self) -> str:
        """The version's folder."""
        return version_name(self.version)

    def path(self, file: StoredPart | ReplacedRows) -> str:
        """Return the name of a file within the table."""
        return file.name if version_number(file.name.partition("/")[0]) is not None else f"{self.name}/{file.name}"

    def paths(self) -> Iterator[str]:
        """Yield the names, within the table, of all files that the version needs."""
        yield from map(self.path, self.parts)
        yield from map(self.path, self.replaced)

    def schema(self) -> Any:
        """Return the Arrow schema of the version's files."""
        return pa.schema([pa.field(each.name, arrow_type(each.type), each.nullable) for each in self.columns])


def stored_columns(schema: Any) -> tuple[StoredColumn, ...]:
    """Return a schema as a manifest stores it."""
    return tuple(StoredColumn(field.name, str(field.type), field.nullable) for field in schema)


def encode(manifest: Manifest) -> bytes:
    """Encode a manifest."""
    return msgspec.json.format(msgspec.json.encode(manifest, order="deterministic"), indent=1) + b"\n"


def decode(data: bytes, where: str) -> Manifest:
    """Decode a manifest, or raise an error that says what is wrong."""
    hint = "The file is damaged. To go back to the previous version, write its name to CURRENT."
    check_json_format("the table", data, FORMAT, where=where)
    try:
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as failure:
        raise DamagedManifest(f"the manifest cannot be read: {failure}", where=where, hint=hint) from None


def version_name(number: int) -> str:
    """Return the folder of a version.

    >>> version_name(12)
    'v000012'
    """
    return f"v{number:06d}"


def version_number(name: str) -> int | None:
    """Return the version of a folder name, or ``None``.

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
"""Previous versions that are kept."""

_LEFT = f"{CURRENT}.new"  # left by a kill before CURRENT was renamed


def current_version(place: TableStorage) -> int | None:
    """Return the version in ``CURRENT``, or ``None`` if there is no ``CURRENT``."""
    data = place.read(CURRENT)
    if data is None:
        return None
    number = version_number(data.decode("ascii", "replace").strip())
    if number is None:
        hint = "Write the name of a complete version to it, such as v000001."
        raise UserError(f"it does not name a version: {data[:40]!r}", where=place.location(CURRENT), hint=hint)
    return number


def read_manifest(place: TableStorage, version: int) -> Manifest | None:
    """Return the manifest of a version, or ``None`` if it does not exist."""
    for file in (MANIFEST, FORMER_MANIFEST):
        name = f"{version_name(version)}/{file}"
        data = place.read(name)
        if data is not None:
            return decode(data, place.location(name))
    return None


def current_manifest(place: TableStorage) -> Manifest | None:
    """Return the manifest of the current version, or ``None`` if the table has none yet."""
    version = current_version(place)
    if version is None:
        return None
    found = read_manifest(place, version)
    if found is None:
        raise lost_manifest(place, version)
    return found


def lost_manifest(place: TableStorage, version: int) -> UserError:
    """Return the error for a current version without a manifest."""
    hint = "The table is damaged. To go back to the previous version, write its name to CURRENT."
    where = place.location(f"{version_name(version)}/{MANIFEST}")
    return UserError("the manifest of the current version is missing", where=where, hint=hint)


def no_table(place: TableStorage) -> UsageError:
    """Return the error for a folder without a current version; it says what is there instead."""
    entries = place.entries()
    if entries is None:
        return UsageError("there is no table here: no such folder", where=place.location())
    if any(version_number(name) for name in entries):
        message = "the table has no finished version: its first writer is still running, or was killed"
        return UsageError(message, where=place.location(), hint="Run the job that writes it again.")
    hint = "A table's folder holds a file CURRENT and the folders of its versions."
    return UsageError("this folder is not a table", where=place.location(), hint=hint)


def refuse_foreign(place: TableStorage) -> None:
    """Raise if a folder is neither a table nor empty."""
    entries = place.entries() or {}
    if CURRENT not in entries:
        foreign = sorted(name for name in entries if version_number(name) is None and name not in (LOCK, _LEFT))
        if foreign:
            hint = "Choose an empty or a new folder."
            raise UsageError(f"this folder is not a table: it holds {foreign[0]}", where=place.location(), hint=hint)


def sweep(
    place: TableStorage, current: Manifest | None, keep: int = KEEP, *, check_lock: Callable[[], None] = lambda: None
) -> tuple[list[str], int]:
    """Remove versions that never became current or are no longer kept, unless a reader holds them.

    Files of a removed version that a remaining one needs are left. Returns the names of the removed versions, and the
    highest version number. The caller must hold the table's lock; ``check_lock`` is called after listing the versions,
    so that none of a later holder can be among them.
    """
    entries = place.entries() or {}
    numbers = {number: name for name in sorted(entries) if (number := version_number(name)) is not None}
    if current is None:
        _refuse_lost_current(place, numbers)
    if _LEFT in entries:
        place.remove(_LEFT)
    kept = _chain(place, current, keep)
    check_lock()
    needed = {path for manifest in kept.values() if manifest is not None for path in manifest.paths()}
    removed = []
    # Newest first: a version needs only files of older ones, so it is known by then which of them remain.
    for number in sorted(numbers.keys() - kept.keys(), reverse=True):
        name = numbers[number]
        spared = _below(name, needed)
        # Listing costs a request in an object store, where a version without shared files is removed in any case.
        inside = (place.entries(name) or {}) if spared or place.lasting_names else {}
        if spared and inside.keys() <= {file.partition("/")[0] for file in spared}:
            continue  # removed before; only shared files are left
        if place.remove_version(name, FORMER_MANIFEST if FORMER_MANIFEST in inside else MANIFEST, spared):
            removed.append(name)
        elif (held := read_manifest(place, number)) is not None:
            needed |= set(held.paths())
    return sorted(removed), max(numbers, default=0)


def unneeded_files(place: TableStorage, current: Manifest, keep: int = KEEP) -> dict[str, list[str]]:
    """Return what ``sweep`` would remove if there were no readers: the names of files by version."""
    kept = _chain(place, current, keep)
    needed = {path for manifest in kept.values() if manifest is not None for path in manifest.paths()}
    found = {}
    for name in sorted(place.entries() or {}):
        number = version_number(name)
        if number is not None and number not in kept:
            spared = {file.partition("/")[0] for file in _below(name, needed)}
            files = [file for file in place.entries(name) or {} if file not in spared]
            if files or not spared:
                found[name] = files
    return found


def _below(folder: str, paths: Collection[str]) -> frozenset[str]:
    """Return the paths below a folder, relative to it."""
    prefix = f"{folder}/"
    return frozenset(path.removeprefix(prefix) for path in paths if path.startswith(prefix))


def _refuse_lost_current(place: TableStorage, numbers: Mapping[int, str]) -> None:
    """Raise if ``CURRENT`` was lost: the versions must not be removed as strays."""
    for number, name in numbers.items():
        manifest = read_manifest(place, number)
        if manifest is not None and manifest.previous is not None:
            hint = "Write the name of the newest complete version to it."
            message = f"it is missing, though the table had versions ({name} is one)"
            raise UserError(message, where=place.location(CURRENT), hint=hint)


def _chain(place: TableStorage, current: Manifest | None, keep: int) -> dict[int, Manifest | None]:
    """Return the current version and the previous ones to keep, with their manifests if they exist."""
    kept: dict[int, Manifest | None] = {current.version: current} if current else {}
    while current is not None and current.previous is not None and len(kept) <= keep:
        before = current.previous
        try:
            current = read_manifest(place, before)
        except DamagedManifest:
            current = None  # it cannot be opened any more, and must not keep others from writing
        kept[before] = current
    return kept
