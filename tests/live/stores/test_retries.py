"""URLs whose fetch has failed are submitted again at their time, in memory and in SQLite."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from msgspec.structs import replace
from tests.live.stores.conftest import Make
from tests.live.stores.fakes import LEASE, START, Stores, Time, accept, done, message, opened, url_of

from scoter.config.sections.live import LiveSettings
from scoter.live.ports import JournalEntry, UrlOutcome
from scoter.live.records import Priority
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores
from scoter.live.tenants import scoped_id

MINUTE = timedelta(minutes=1)


def failing(entry: JournalEntry, retry_at: datetime | None) -> UrlOutcome:
    outcome = done(entry)
    return replace(outcome, record=replace(outcome.record, retry_at=retry_at))


async def fail(stores: Stores, *names: str, at: datetime | None = START + MINUTE) -> None:
    await accept(stores.journal, *names)
    entries = await stores.journal.open("r", len(names), LEASE)
    await stores.outcomes.record("r", [failing(entry, at) for entry in entries])


async def test_due_retry_becomes_one_message_of_low_priority(stores: Stores, time: Time) -> None:
    await fail(stores, "a")
    early = await stores.journal.accept_retries(10)
    time.passes(60)

    accepted = [await stores.journal.accept_retries(10) for _ in range(2)]
    (entry,) = await stores.journal.open("r", 10, LEASE)

    assert (early, accepted) == (0, [1, 0])
    assert (entry.url, entry.priority, entry.force, entry.callback) == (url_of("a"), Priority.BULK, False, "")
    assert entry.message.startswith("retry-")
    assert stores.journal.retries() == 0


async def test_outcome_of_a_retry_is_announced_to_the_tenant_that_asked(stores: Stores, time: Time) -> None:
    await stores.journal.accept([(message(scoped_id("acme", "m")), [url_of("a")])])
    (entry,) = await stores.journal.open("r", 1, LEASE)
    await stores.outcomes.record("r", [failing(entry, START + MINUTE)])
    time.passes(60)
    await stores.journal.accept_retries(10)
    (again,) = await stores.journal.open("r", 10, LEASE)

    (event,) = await stores.outcomes.record("r", [done(again)])

    assert event is not None
    assert (event.tenant, event.url) == ("acme", url_of("a"))


async def test_outcome_without_a_retry_cancels_it(stores: Stores, time: Time) -> None:
    await fail(stores, "a")
    await accept(stores.journal, "a again")
    (entry,) = await stores.journal.open("r", 1, LEASE)

    await stores.outcomes.record("r", [failing(replace(entry, url=url_of("a")), None)])
    time.passes(60)

    assert (stores.journal.retries(), await stores.journal.accept_retries(10)) == (0, 0)


async def test_later_failure_moves_the_retry(stores: Stores, time: Time) -> None:
    await fail(stores, "a")
    await accept(stores.journal, "a again")
    (entry,) = await stores.journal.open("r", 1, LEASE)

    await stores.outcomes.record("r", [failing(replace(entry, url=url_of("a")), START + 2 * MINUTE)])
    time.passes(60)

    assert (stores.journal.retries(), await stores.journal.accept_retries(10)) == (1, 0)
    time.passes(60)
    assert await stores.journal.accept_retries(10) == 1


async def test_number_of_waiting_retries_is_limited(make: Make) -> None:
    stores = await make(retries_most=2)

    await fail(stores, "a", "b", "c")

    assert stores.journal.retries() == 2


async def test_lost_entry_schedules_nothing(stores: Stores) -> None:
    await accept(stores.journal, "a")
    (entry,) = await stores.journal.open("r", 1, LEASE)

    assert await stores.outcomes.record("another", [failing(entry, START + MINUTE)]) == [None]

    assert stores.journal.retries() == 0


async def test_retry_survives_a_restart(tmp_path: Path, time: Time) -> None:
    path = tmp_path / "service.sqlite"
    async with ServiceDb(path, clock=time.clock) as db:
        await fail(SqliteStores(db), "a")
    time.passes(3600)

    async with ServiceDb(path, clock=time.clock) as db:
        journal = SqliteStores(db).journal
        assert await journal.accept_retries(10) == 1
    async with ServiceDb(path, clock=time.clock) as db:
        (message,) = await opened(SqliteStores(db).journal)

    assert message.startswith("retry-")


async def test_retry_waits_while_the_journal_is_full(tmp_path: Path, time: Time) -> None:
    async with ServiceDb(tmp_path / "service.sqlite", clock=time.clock) as db:
        stores = SqliteStores(db, LiveSettings(backlog=1))
        await fail(stores, "a")
        await accept(stores.journal, "b")
        time.passes(60)

        assert await stores.journal.accept_retries(10) == 0
        assert stores.journal.retries() == 1
