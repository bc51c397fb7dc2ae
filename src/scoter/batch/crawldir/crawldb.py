"""The version before the current one of a crawl's tables."""

from __future__ import annotations

from pathlib import Path

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.config import Config
from scoter.errors import UsageError, typed
from scoter.plugins import chain
from scoter.store.tables import Table, clean
from scoter.store.tables.versions import CURRENT


def without_backup(table: Path, config: Config) -> None:
    """Remove the version before, if it is not to be kept and nobody reads it; to be called when a job is done."""
    if not config.db.preserve_backup and (table / CURRENT).exists():
        clean(table, keep=0)


def open_crawldb(crawl: CrawlDir, config: Config) -> Table:
    """Return the crawldb with the columns of the plug-ins that are active now."""
    if not (crawl.crawldb / CURRENT).exists():
        raise UsageError(
            "there is no crawldb yet",
            where=str(crawl.path),
            hint=f"Put URLs into it: scoter inject {typed(crawl.path)} URL",
        )
    extra = schemas.plugin_columns(chain("scoring", config))
    return Table.open(crawl.crawldb, schemas.CRAWLDB, extra=extra)
