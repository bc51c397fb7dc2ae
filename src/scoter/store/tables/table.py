"""Reading a table: one version of it, as it was when it was opened."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoter.errors import Defect, UsageError, UserError
from scoter.plugins import Column
from scoter.store.disk import Closing
from scoter.store.tables.local import storage_at
from scoter.store.tables.new_version import NewVersion
from scoter.store.tables.parquet import batches, checksum, count_rows, dataset_of
from scoter.store.tables.replaced import live_batches, load_positions
from scoter.store.tables.schema import Defaults, defaults_of, missing, with_columns
from scoter.store.tables.storage import Release, TableStorage
from scoter.store.tables.versions import (
    FORMER_MANIFEST,
    MANIFEST,
    Manifest,
    ReplacedRows,
    StoredPart,
    current_version,
    decode,
    lost_manifest,
    no_table,
    version_name,
)

_TRIES = 20


class Table(Closing):
    """One version of a table, which later writes do not change.

    In a local folder the version is kept until it is closed; in an object store, until two more versions were written.
    """

    write = NewVersion
    """The next version, to be written and committed in a ``with`` block; without a commit it is removed."""

    def __init__(
        self, place: TableStorage, manifest: Manifest, release: Release, want: Any, defaults: Defaults
    ) -> None:
        self.manifest = manifest
        self.stored = manifest.schema()
        self.schema = self.stored if want is None else want
        self._place = place
        self.defaults = defaults
        self._close = weakref.finalize(self, release)
        where = place.location(manifest.name)
        self.missing = missing(self.stored, self.schema, defaults, where)

    @classmethod
    def open(
        cls,
        path: str | Path | TableStorage,
        schema: Any = None,
        *,
        extra: Sequence[Column] = (),
        defaults: Defaults | None = None,
        version: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Table:
        """Open the current version, or another that still exists, to read the columns of a schema.

        ``extra`` are additional columns of plug-ins. Missing columns get their defaults. Without a schema, the columns
        are those of the files.
        """
        place = storage_at(path, options)
        manifest, release = _held(place, version)
        try:
            want = None if schema is None else with_columns(schema, extra)
            table = cls(place, manifest, release, want, defaults_of(extra, defaults))
            table._check_sizes()
        except BaseException:
            release()
            raise
        return table

    def __repr__(self) -> str:
        return f"Table({self._place.location(self.manifest.name)}, {self.manifest.rows} rows)"

    def close(self) -> None:
        """Release the version; it may be removed from now on."""
        self._close()

    @property
    def version(self) -> int:
        """The number of the version."""
        return self.manifest.version

    @property
    def files(self) -> tuple[str, ...]:
        """The paths or URLs of the files, for engines that read them directly.

        Such an engine gets the columns of ``stored`` and has to add those of ``missing``, and must leave out the rows
        whose positions are in the files of ``replaced``.
        """
        return tuple(self._place.location(self._name(part)) for part in self.manifest.parts)

    @property
    def replaced(self) -> tuple[str, ...]:
        """The paths or URLs of the files with the positions of replaced rows."""
        return tuple(self._place.location(self._name(each)) for each in self.manifest.replaced)

    @property
    def changed(self) -> frozenset[str]:
        """Those of ``files`` that have replaced rows."""
        parts = zip(self.files, self.manifest.parts, strict=True)
        return frozenset(file for file, part in parts if part.replaced)

    def dataset(self) -> Any:
        """Return the version as an Arrow dataset of the wanted columns; it must have no replaced rows."""
        if self.manifest.replaced:
            raise Defect(f"{self!r} has replaced rows, which a dataset would include")
        return self._dataset(self.manifest.parts)

    def scan(self, columns: Sequence[str] | None = None, where: Any = None) -> Iterator[Any]:
        """Yield record batches of some columns, of the rows that pass a filter (an Arrow expression)."""
        whole = [part for part in self.manifest.parts if not part.replaced]
        if whole:
            yield from batches(self._dataset(whole), columns, where, self._explain)
        if len(whole) == len(self.manifest.parts):
            return
        positions = load_positions(self._place, [self._name(each) for each in self.manifest.replaced])
        for part in self.manifest.parts:
            if part.replaced:
                chosen = columns if where is None else None
                found = batches(self._dataset([part]), chosen, None, self._explain)
                yield from live_batches(found, positions[self._name(part)], columns, where)

    def count(self, where: Any = None) -> int:
        """Return the number of rows, or of those that pass a filter."""
        if where is None:
            return self.manifest.rows
        if self.manifest.replaced:
            return sum(batch.num_rows for batch in self.scan(None, where))
        return count_rows(self._dataset(self.manifest.parts), where, self._explain)

    def _dataset(self, parts: Sequence[StoredPart]) -> Any:
        """Return parts as an Arrow dataset of the wanted columns."""
        files = [(self._name(part), self.stored) for part in parts]
        return dataset_of(self._place, files, self.schema, self.defaults)

    def verify(self) -> None:
        """Read every file, and raise if its checksum is wrong."""
        for part in self._all_files():
            file = self._place.open(self._name(part))
            if file is None:
                raise self._gone(part)
            try:
                with file:
                    found = checksum(file)
            except OSError as failure:
                raise self._damaged(part, f"it cannot be read: {failure}") from failure
            if found != part.xxh3_128:
                raise self._damaged(part, f"its checksum is {found}, not {part.xxh3_128}")

    def _check_sizes(self) -> None:
        folders: dict[str, Mapping[str, int | None]] = {}
        for part in self._all_files():
            folder, _, name = self._name(part).rpartition("/")
            if folder not in folders:
                folders[folder] = self._place.entries(folder) or {}
            sizes = folders[folder]
            if name not in sizes:
                raise self._gone(part)
            if sizes[name] != part.size:
                raise self._damaged(part, f"it has {sizes[name]} bytes, not {part.size}")

    def _explain(self, failure: Exception) -> UserError:
        """Return the error for a failed read, after checking the files for a damaged one."""
        try:
            self._check_sizes()
            self.verify()
        except UserError as found:
            return found
        return UserError(f"cannot read the table: {failure}", where=self._place.location(self.manifest.name))

    def _gone(self, part: StoredPart | ReplacedRows) -> UserError:
        where = self._place.location(self._name(part))
        if current_version(self._place) == self.version:
            hint = "The table is damaged. To go back to the previous version, write its name to CURRENT."
            return UserError("a file of the current version is missing", where=where, hint=hint)
        return _outdated(where)

    def _damaged(self, part: StoredPart | ReplacedRows, how: str) -> UserError:
        hint = "To go back to the previous version, write its name to CURRENT."
        return UserError(f"the file is damaged: {how}", where=self._place.location(self._name(part)), hint=hint)

    def _all_files(self) -> list[StoredPart | ReplacedRows]:
        return [*self.manifest.parts, *self.manifest.replaced]

    def _name(self, part: StoredPart | ReplacedRows) -> str:
        return self.manifest.path(part)


def _held(place: TableStorage, version: int | None) -> tuple[Manifest, Release]:
    """Return the manifest of an existing version, protected from removal, and a function that releases it."""
    missed = None
    for _ in range(_TRIES):
        number = current_version(place) if version is None else version
        if number is None:
            raise no_table(place)
        if number == missed:
            # Missed twice: this is not a race with writers.
            raise lost_manifest(place, number) if version is None else _outdated(place.location(version_name(number)))
        for file in (MANIFEST, FORMER_MANIFEST):
            name = f"{version_name(number)}/{file}"
            held = place.hold(name)
            if held is not None:
                data, release = held
                try:
                    return decode(data, place.location(name)), release
                except BaseException:
                    release()
                    raise
        missed = number
    raise _outdated(place.location())


def _outdated(where: str) -> UsageError:
    message = "this version no longer exists: newer ones replaced it"
    return UsageError(message, where=where, hint="Open the table again to read the current version.")
