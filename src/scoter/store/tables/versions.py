"""The versions in a table's folder: which one is current, which are kept, which may go."""

from __future__ import annotations

from collections.abc import Mapping

from scoter.errors import UsageError, UserError
from scoter.store.tables.manifest import CURRENT, LOCK, MANIFEST, Manifest, decode, version_name, version_number
from scoter.store.tables.place import Place

KEEP = 1
"""Versions before the current one that stay."""

_LEFT = f"{CURRENT}.new"  # what a kill leaves of a CURRENT that was never given its name


def current_version(place: Place) -> int | None:
    """Return the version that ``CURRENT`` names; nothing when there is no ``CURRENT``."""
    data = place.read(CURRENT)
    if data is None:
        return None
    number = version_number(data.decode("ascii", "replace").strip())
    if number is None:
        hint = "Write the name of a whole version into it, such as v000001; a newline may follow."
        raise UserError(f"it does not name a version: {data[:40]!r}", where=place.location(CURRENT), hint=hint)
    return number


def read_manifest(place: Place, version: int) -> Manifest | None:
    """Return what a version says of itself; nothing when it is not there."""
    name = f"{version_name(version)}/{MANIFEST}"
    data = place.read(name)
    return None if data is None else decode(data, place.location(name))


def current_manifest(place: Place) -> Manifest | None:
    """Return the manifest of the current version, or nothing in a table that has none yet."""
    version = current_version(place)
    if version is None:
        return None
    found = read_manifest(place, version)
    if found is None:
        raise lost_manifest(place, version)
    return found


def lost_manifest(place: Place, version: int) -> UserError:
    """Return the error of a current version that has no manifest."""
    hint = "The table is damaged; to go back to the version before, write its name into CURRENT."
    where = place.location(f"{version_name(version)}/{MANIFEST}")
    return UserError("the manifest of the current version is missing", where=where, hint=hint)


def no_table(place: Place) -> UsageError:
    """Return the error of a folder without a current version; it says what is there instead."""
    entries = place.entries()
    if entries is None:
        return UsageError("there is no table here: no such folder", where=place.location())
    if any(version_number(name) for name in entries):
        message = "the table has no finished version: its first writer has not ended, or was killed"
        return UsageError(message, where=place.location(), hint="Run what writes it again.")
    hint = "A table's folder holds a file CURRENT and the folders of its versions."
    return UsageError("this folder is not a table", where=place.location(), hint=hint)


def refuse_foreign(place: Place) -> None:
    """Raise if a folder is something else than a table, or than a place for one."""
    entries = place.entries() or {}
    if CURRENT not in entries:
        foreign = sorted(name for name in entries if version_number(name) is None and name not in (LOCK, _LEFT))
        if foreign:
            hint = "Choose an empty folder, or one that does not exist."
            raise UsageError(f"this folder is not a table: it holds {foreign[0]}", where=place.location(), hint=hint)


def sweep(place: Place, current: Manifest | None, keep: int = KEEP) -> tuple[list[str], int]:
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


def _refuse_lost_current(place: Place, numbers: Mapping[int, str]) -> None:
    """Raise if a folder without ``CURRENT`` must have had one: its versions are no strays, and must not be swept."""
    for number, name in numbers.items():
        manifest = read_manifest(place, number)
        if manifest is not None and manifest.previous is not None:
            hint = "Write the name of the newest whole version into it, with a newline."
            message = f"it is missing, though the table had versions ({name} is one)"
            raise UserError(message, where=place.location(CURRENT), hint=hint)


def _chain(place: Place, current: Manifest | None, keep: int) -> set[int]:
    """Return the current version and those before it; the last of them is kept whatever its manifest looks like."""
    kept = {current.version} if current else set()
    while current is not None and current.previous is not None and len(kept) <= keep:
        kept.add(current.previous)
        current = read_manifest(place, current.previous) if len(kept) <= keep else None
    return kept
