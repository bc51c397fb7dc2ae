"""Write changed rows of the crawldb as delta parts next to its base.

A job that changes few rows reads these with their positions, writes the new rows as a delta part, and lists the
positions of the old ones. So the version after it shares all other rows with the one before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec import Struct

from scoter.config import Config
from scoter.engine import Engine, TableSource, file_source, sources
from scoter.engine.port import Rows
from scoter.engine.sources import STORED_FILE, STORED_ROW, arrow_source, stored_name, survey, with_positions
from scoter.plugins.recorded import ibis
from scoter.store.tables import Manifest
from scoter.store.tables.replaced import POSITIONS
from scoter.store.tables.versions import stored_columns

MAX_SHARE = 0.5
"""Of the rows of a crawldb, those that may be changed by delta parts; if there are more, a rewrite costs less."""


class StoredRows(Struct, frozen=True):
    """Some rows of a table, copied to a file, and a file with their positions."""

    source: TableSource
    positions: Path


def is_incremental(manifest: Manifest | None, schema: Any, config: Config, changed: int) -> bool:
    """Return whether a change of ``changed`` rows is written as a delta part; otherwise the crawldb is rewritten."""
    return (
        manifest is not None
        and manifest.rows >= config.db.incremental_min_rows
        and changed <= MAX_SHARE * manifest.rows
        and manifest.columns == stored_columns(schema)
    )


def save_rows(engine: Engine, rows: Rows, source: TableSource, file: Path) -> int:
    """Write rows that were read with their positions to a file, and return their number."""
    return engine.save(rows, with_positions(source.schema), file, is_temporary=True)


class KeySpans(Struct, frozen=True):
    """Ranges of keys, ends included, outside of which a job needs no rows; ``None`` means that it may need all."""

    spans: tuple[tuple[str, str], ...] | None = None

    def of(self, rows: Rows) -> Rows:
        """Return the rows in these ranges."""
        if self.spans is None:
            return rows
        if not self.spans:
            return rows.limit(0)
        # A union rather than one condition: engines skip row groups by simple comparisons.
        parts = [rows.filter((rows.key >= low) & (rows.key <= high)) for low, high in self.spans]
        return ibis.union(*parts) if len(parts) > 1 else parts[0]


def stored_rows(engine: Engine, source: TableSource, urls: Rows, folder: Path) -> StoredRows:
    """Return the rows of a source that have one of these URLs; ``urls`` has a column ``key``, too."""
    file = folder / "stored.parquet"
    known = key_spans(engine, source, urls).of(engine.read(source, positions=True))
    save_rows(engine, known.semi_join(urls, "url"), source, file)
    return StoredRows(file_source(file, source.schema), save_positions(engine, file, source, folder))


def key_spans(engine: Engine, source: TableSource, urls: Rows) -> KeySpans:
    """Return the keys of the row groups that may have one of these URLs, if these groups are few."""
    found = survey(source)
    if len(found.groups) < sources.MIN_PRUNED_GROUPS:
        return KeySpans()
    most = min(_MAX_HOSTS, _HOSTS_PER_GROUP * len(found.groups))
    # Most often a sample shows that there are too many hosts.
    for some in (urls.limit(_SAMPLE), urls):
        prefixes = _hosts(engine, some, most)
        if len(prefixes) > most or None in prefixes:
            return KeySpans()
    spans = sources.key_spans(found, [each for each in prefixes if each is not None])
    return KeySpans(None if spans is None else tuple(spans))


def _hosts(engine: Engine, urls: Rows, most: int) -> list[str | None]:
    """Return how the keys of URLs start: their hosts, and one more than ``most`` if there are more."""
    at = urls.key.find(")")
    hosts = urls.select(host=ibis.ifelse(at >= 0, urls.key.substr(0, at), urls.key)).distinct().limit(most + 1)
    return [host for batch in engine.batches(hosts) for host in batch.column("host").to_pylist()]


def save_positions(engine: Engine, file: Path, source: TableSource, folder: Path) -> Path:
    """Write the positions of the rows in a file that ``save_rows`` wrote, for ``NewVersion.replace_rows``."""
    rows = engine.read(file_source(file, with_positions(source.schema).empty_table().select(_PLACE).schema))
    return write_positions(engine, rows, source, folder / "positions.parquet")


def write_positions(engine: Engine, rows: Rows, source: TableSource, file: Path) -> Path:
    """Write the positions of rows of a source to a file."""
    names = list(map(stored_name, source.files))
    parts = pa.table({"number": range(len(names)), "part": names}, schema=_NUMBERED)
    numbered = engine.read(arrow_source(parts, file.with_name(f"parts-of-{file.name}")))
    found = rows.join(numbered, rows[STORED_FILE] == numbered.number)
    engine.save(found.select(part=found.part, row=found[STORED_ROW]), POSITIONS, file)
    return file


def replaced_rows(folder: Path, schema: Any) -> TableSource:
    """Return what ``Engine.write`` has written about replaced rows."""
    files = tuple(str(file) for file in sorted(folder.rglob("*.parquet")) if not file.name.startswith("."))
    return TableSource(files=files, schema=schema, defaults={})


_MAX_HOSTS = 200_000
_HOSTS_PER_GROUP = 8
"""With more hosts, hardly any row group has none of them."""
_SAMPLE = 100_000
_PLACE = [STORED_FILE, STORED_ROW]
_NUMBERED = pa.schema([("number", pa.int32()), ("part", pa.utf8())])
