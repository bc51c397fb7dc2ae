"""What to do about the rows of the report `failures`: the setting that refused URLs, and a command that allows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from scoter.batch.urls.refusals import remedy
from scoter.config import Config

REMEDIES: Final = ("setting", "to_allow")
"""The columns that are added to the columns ``reason``, ``example`` and ``detail``."""


def with_remedies(rows: Iterable[Mapping[str, Any]], directory: object, config: Config) -> Iterator[dict[str, Any]]:
    """Yield rows with the setting that decided, and a command to copy; ``None`` where there is none.

    ``directory`` is how the command spells the crawl directory.
    """
    for row in rows:
        found = remedy(row["reason"], row["example"], row["detail"] or "", config)
        setting, command = (None, None) if found is None else (found.setting, found.command(directory) or None)
        yield {**row, **dict(zip(REMEDIES, (setting, command), strict=True))}


def table_with_remedies(table: Any, directory: object, config: Config) -> Any:
    """Do the same for an Arrow table."""
    found = list(with_remedies(table.to_pylist(), directory, config))
    for name in REMEDIES:
        table = table.append_column(name, pa.array([row[name] for row in found], pa.utf8()))
    return table
