"""The version before the current one of a crawl's tables."""

from __future__ import annotations

from pathlib import Path

from scoter.config import Config
from scoter.store.tables import clean
from scoter.store.tables.versions import CURRENT


def without_backup(table: Path, config: Config) -> None:
    """Remove the version before, if it is not to be kept and nobody reads it; to be called when a job is done."""
    if not config.db.preserve_backup and (table / CURRENT).exists():
        clean(table, keep=0)
