"""What ``generate`` takes from the hostdb: limits and delays by expression, and which hosts are dead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.hosts.columns import EXPRESSION_COLUMNS
from scoter.batch.hosts.lookups import FAILED
from scoter.config import Config
from scoter.core.expr import ExprError, Typed, ValueType, compile_expr
from scoter.engine import Engine, source_of
from scoter.engine.expressions import condition
from scoter.engine.port import Rows
from scoter.engine.portable import Value, double, timestamp
from scoter.errors import UsageError, typed
from scoter.plugins.recorded import ibis
from scoter.store.tables import Table

LIMIT, DELAY, IS_DEAD = "host_limit", "delay_ms", "is_dead"
NO_LIMIT = 2**62
_MOST_DELAY = 86_400_000  # milliseconds of a day


class HostChoices(Struct, frozen=True):
    """The hosts of a hostdb in a column ``url``, each with its limit, its delay and whether it is dead."""

    rows: Rows
    has_limits: bool


@contextmanager
def host_choices(
    crawl: CrawlDir, engine: Engine, config: Config, *, now: datetime, wanted: bool = False
) -> Iterator[HostChoices | None]:
    """Yield what the hostdb says, or ``None`` if neither an option nor a setting asks for it.

    ``wanted`` uses the crawl's own hostdb, unless ``generate.hostdb`` names another.
    """
    settings = config.generate
    limit = _compiled(settings.max_count_expr, "generate.max_count_expr", (ValueType.NUMBER,))
    delay = _compiled(settings.fetch_delay_expr, "generate.fetch_delay_expr", (ValueType.NUMBER, ValueType.DURATION))
    if not (wanted or settings.hostdb is not None or limit is not None or delay is not None):
        yield None
        return
    with _opened(crawl, settings.hostdb) as table:
        rows = engine.read(source_of(table))
        at = timestamp(now)
        is_dead = (rows.dns == FAILED) & (rows.next_check.isnull() | (rows.next_check > at))
        columns = {LIMIT: ibis.literal(None, "int64"), DELAY: ibis.literal(None, "int32")}
        if limit is not None:
            columns[LIMIT] = _limit(condition(rows, limit, now))
        if delay is not None:
            value = condition(rows, delay, now)
            # A duration is in microseconds.
            columns[DELAY] = _delay(value / 1_000 if delay.kind is ValueType.DURATION else value)
        dead = is_dead.coalesce(ibis.literal(value=False))
        yield HostChoices(rows.select("url", **columns, **{IS_DEAD: dead}), limit is not None)


def _opened(crawl: CrawlDir, folder: Path | None) -> Table:
    path = folder or crawl.hostdb
    if not table_exists(path):
        hint = f"Run: scoter updatehostdb {typed(crawl.path)}" if folder is None else "See the setting generate.hostdb."
        raise UsageError("there is no hostdb", where=str(path), hint=hint)
    return Table.open(path, schemas.HOSTDB)


def _compiled(text: str, name: str, results: tuple[ValueType, ...]) -> Typed | None:
    if not text.strip():
        return None
    try:
        return compile_expr(text, EXPRESSION_COLUMNS, results)
    except ExprError as error:
        error.where = name
        raise


def _limit(value: Value) -> Value:
    """Return a limit: a negative number means none, a missing one that of ``generate.max_count``."""
    whole = value.round().clip(-1, 10**12).cast("int64")
    return (value.isnull() | value.isnan()).ifelse(None, (whole < 0).ifelse(NO_LIMIT, whole))


def _delay(value: Value) -> Value:
    """Return a delay in milliseconds, at most a day; negative and missing ones mean the usual delay."""
    number = ibis.least(value, double(_MOST_DELAY)).round()
    return (value.isnull() | value.isnan() | (value < 0)).ifelse(None, number).cast("int32")
