"""Connections to Cassandra, and the tables of the service."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, Self

import msgspec
from msgspec import Struct

from scoter.config.sections.cluster import CassandraSettings
from scoter.errors import StoreUnavailable, UsageError
from scoter.http.metrics import Histogram
from scoter.live.kafka.faults import FAULTS, FaultKind, cassandra_fault
from scoter.live.kafka.kafka import password_of
from scoter.store.formats import check_format

VERSION: Final = 2
_CONSISTENCY: Final = {"one": "ONE", "quorum": "QUORUM", "local-quorum": "LOCAL_QUORUM"}
_CREATED: Final = (
    "CREATE TABLE IF NOT EXISTS records (url text PRIMARY KEY, value blob)",
    "CREATE TABLE IF NOT EXISTS messages (id text PRIMARY KEY, urls blob, is_stored boolean, digest blob)",
    "CREATE TABLE IF NOT EXISTS robots (origin text PRIMARY KEY, expires double, body blob)",
    "CREATE TABLE IF NOT EXISTS keys (part int, id text, value blob, used bigint, PRIMARY KEY (part, id))",
    "CREATE TABLE IF NOT EXISTS deliveries (part int, id text, value blob, PRIMARY KEY (part, id))",
)
_UPGRADES: Final[Mapping[int, tuple[str, ...]]] = {
    1: ("ALTER TABLE messages ADD IF NOT EXISTS digest blob",),
}
_FACTS: Final = "CREATE TABLE IF NOT EXISTS facts (name text PRIMARY KEY, value int)"
_log = logging.getLogger(__name__)


class TableSchema(Struct, frozen=True):
    """The tables that this version of Scoter uses.

    ``upgrades`` has the statements that lead from a version to the next one. They may be repeated, and leave the tables
    usable for processes of the version before: all of them run while processes are replaced one after the other.
    """

    version: int = VERSION
    tables: tuple[str, ...] = _CREATED
    upgrades: Mapping[int, tuple[str, ...]] = msgspec.field(default_factory=lambda: _UPGRADES)

    def statements_from(self, version: int | None, where: str) -> list[str]:
        """Return what leads from a stored version to this one; raise ``UsageError`` if nothing does."""
        if version is None or version == self.version:
            return list(self.tables)
        check_format("the keyspace", version, self.version, where=where)
        missing = [each for each in range(version, self.version) if each not in self.upgrades]
        if missing:
            raise UsageError(
                f"its tables have version {version}, which this Scoter cannot upgrade to version {self.version}",
                where=where,
                hint="Upgrade with an older Scoter first, or choose a new keyspace.",
            )
        upgrades = [statement for each in range(version, self.version) for statement in self.upgrades[each]]
        return [*upgrades, *self.tables]


class CassandraSession:
    """A connection to the service's keyspace. Its failures are ``StoreUnavailable``."""

    def __init__(self, settings: CassandraSettings, schema: TableSchema = TableSchema()) -> None:  # noqa: B008 frozen
        self._settings = settings
        self._schema = schema
        self._prepared: dict[str, Any] = {}
        self._session: Any = None
        self._errors: tuple[type[Exception], ...] = ()
        self.failures = 0
        self.write_failures = 0
        self.seconds = Histogram("scoter_cassandra_seconds", "Time of requests to Cassandra.", "operation")

    def __repr__(self) -> str:
        return f"CassandraSession({self._settings.keyspace}, {self.failures} failures)"

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect, create what is missing, and upgrade older tables; raise ``UsageError`` if that is impossible."""
        import acsylla
        from acsylla.errors import CassException

        self._errors = (CassException, TimeoutError)
        settings = self._settings
        options: dict[str, Any] = {}
        if settings.username:
            options |= {"username": settings.username, "password": password_of(settings, "cassandra")}
        if settings.tls:
            options["ssl_enabled"] = True
            for name, path in (
                ("ssl_trusted_cert", settings.ca_file),
                ("ssl_cert", settings.certificate_file),
                ("ssl_private_key", settings.key_file),
            ):
                if path is not None:
                    try:
                        options[name] = path.read_text()
                    except OSError as error:
                        raise UsageError(f"cannot read the file: {error.strerror}", where=str(path)) from None
        if settings.datacenter:
            options["load_balance_dc_aware"] = settings.datacenter
        seconds = settings.timeout.total_seconds()
        cluster = acsylla.create_cluster(
            list(settings.hosts),
            port=settings.port,
            connect_timeout=seconds,
            request_timeout=seconds,
            consistency=_CONSISTENCY[settings.consistency],
            serial_consistency="LOCAL_SERIAL" if settings.consistency == "local-quorum" else "SERIAL",
            exponential_reconnect_base_delay_ms=200,
            exponential_reconnect_max_delay_ms=2_000,
            application_name="scoter",
            log_level="critical",
            **options,
        )
        try:
            self._session = await cluster.create_session()
            await self._create(self._session)
        except self._errors as error:
            raise self._trouble(error) from None

    async def _create(self, session: Any) -> None:
        settings = self._settings
        place = settings.datacenter or "datacenter1"
        await session.query(
            f"CREATE KEYSPACE IF NOT EXISTS {settings.keyspace} WITH replication ="
            f" {{'class': 'NetworkTopologyStrategy', '{place}': {settings.replication}}}"
        )
        await session.use_keyspace(settings.keyspace)
        await session.query(_FACTS)
        found = (await session.query("SELECT value FROM facts WHERE name = 'version'")).first()
        version = None if found is None else found.as_tuple()[0]
        schema = self._schema
        for statement in schema.statements_from(version, f"cassandra.keyspace = {settings.keyspace}"):
            await session.query(statement)
        if version != schema.version:
            await session.query("INSERT INTO facts (name, value) VALUES ('version', ?)", (schema.version,))
            if version is not None:
                _log.warning(
                    "upgraded the tables of %s from version %d to %d", settings.keyspace, version, schema.version
                )

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    async def run(self, query: str, *values: Any, is_idempotent: bool = True) -> list[tuple[Any, ...]]:
        """Run a statement; return its rows."""
        session = self._session
        if session is None:
            raise StoreUnavailable("Cassandra: not connected")
        is_read = query.startswith("SELECT")
        began = time.perf_counter()
        try:
            prepared = self._prepared.get(query)
            if prepared is None:
                prepared = self._prepared[query] = await session.create_prepared(query)
            statement = prepared.bind(values)
            if is_idempotent:  # the driver may then try another node
                statement.set_is_idempotent(True)
            result = await session.execute(statement)
            self.seconds.observe("read" if is_read else "write", time.perf_counter() - began)
            return [row.as_tuple() for row in result]
        except self._errors as error:
            self.write_failures += not is_read
            raise self._trouble(error) from None

    async def pages(self, query: str, size: int = 500) -> AsyncIterator[list[tuple[Any, ...]]]:
        """Yield the rows of a long result, a page at a time."""
        try:
            statement = (await self._session.create_prepared(query)).bind(page_size=size)
            while True:
                result = await self._session.execute(statement)
                yield [row.as_tuple() for row in result]
                if not result.has_more_pages():
                    return
                statement.set_page_state(result.page_state())
        except self._errors as error:
            raise self._trouble(error) from None

    async def run_all(self, query: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement for each row, concurrently; raise if any fails, when all have ended."""
        done = await asyncio.gather(*(self.run(query, *row) for row in rows), return_exceptions=True)
        for each in done:
            if isinstance(each, BaseException):
                raise each

    def _trouble(self, error: Exception) -> StoreUnavailable:
        self.failures += 1
        text = str(error).strip() or type(error).__name__
        kind = cassandra_fault(error)
        if kind is FaultKind.FAILED:
            FAULTS.count("cassandra", kind)  # whoever asked logs it
        else:
            FAULTS.note("cassandra", kind, text)
        return StoreUnavailable(f"Cassandra: {text}")
