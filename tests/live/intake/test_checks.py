from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.live.memory.access import MemoryRules

from scoter.errors import StoreUnavailable
from scoter.live.api.records import DomainRule
from scoter.live.content.retention import DiskFloor
from scoter.live.intake.checks import CachedDomainRules, RoomCheckedSink, is_pending
from scoter.live.intake.messages import Overloaded, Taken, TakeResult
from scoter.live.ports import Accepted
from scoter.live.records import Message
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores
from scoter.live.tenants import scoped_id

NOW = datetime(2026, 11, 15, tzinfo=UTC)


def message(name: str) -> Message:
    return Message(id=name, received=NOW)


class Taking:
    """Accepts everything."""

    async def take(self, messages: Sequence[Message]) -> Sequence[TakeResult]:
        return [Taken(accepted=Accepted(message=each.id, entries={})) for each in messages]


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[SqliteStores]:
    async with ServiceDb(tmp_path / "service.sqlite") as db:
        yield SqliteStores(db)


async def test_messages_are_refused_while_free_disk_space_is_below_the_floor() -> None:
    free = 99
    floor = DiskFloor(Path("/"), 100, every=0.0, free=lambda path: free)
    sink = RoomCheckedSink(Taking(), floor)

    with pytest.raises(StoreUnavailable, match="nearly full"):
        await sink.take([message("one"), message("two")])
    free = 100
    taken = await sink.take([message("one")])

    assert [type(each) for each in taken] == [Taken]


async def test_repeated_message_is_accepted_below_the_disk_floor_and_new_ones_are_refused() -> None:
    floor = DiskFloor(Path("/"), 100, every=0.0, free=lambda path: 99)
    sink = RoomCheckedSink(Taking(), floor, is_known=lambda name: name == "old")

    alone = await sink.take([message("old")])
    among_others = await sink.take([message("new"), message("old")])

    assert [type(each) for each in alone] == [Taken]
    assert [type(each) for each in among_others] == [Overloaded, Taken]


async def test_number_of_domain_rules_is_limited() -> None:
    rules = CachedDomainRules(MemoryRules(), lambda rule: None, most=2)
    for name in ("a.example", "b.example", "a.example"):
        await rules.put(DomainRule(domain=name, blocked=True))

    with pytest.raises(StoreUnavailable, match="already 2 rules"):
        await rules.put(DomainRule(domain="c.example", blocked=True))
    await rules.put(DomainRule(domain="a.example"))
    await rules.put(DomainRule(domain="c.example", blocked=True))

    assert [rule.domain for rule in rules.all()] == ["b.example", "c.example"]


async def test_messages_with_a_callback_are_refused_while_too_many_deliveries_wait() -> None:
    waiting, now = 10, 0.0
    floor = DiskFloor(Path("/"), 0)
    sink = RoomCheckedSink(Taking(), floor, waiting_callbacks=lambda *_: waiting, most_callbacks=10, timer=lambda: now)
    messages = [replace(message("told"), callback="http://me.example/"), message("quiet")]

    answers = await sink.take(messages)
    waiting, now = 9, 1.0
    later = await sink.take(messages)

    assert [type(each) for each in answers] == [Overloaded, Taken]
    assert [type(each) for each in later] == [Taken, Taken]


async def test_a_tenant_with_too_many_deliveries_does_not_keep_others_from_callbacks() -> None:
    waiting = {None: 5, "acme": 3, "zeta": 2}
    sink = RoomCheckedSink(
        Taking(),
        DiskFloor(Path("/"), 0),
        waiting_callbacks=lambda most, tenant: min(most, waiting[tenant]),
        most_callbacks=10,
        most_of_tenant=3,
    )
    messages = [replace(message(scoped_id(tenant, "m")), callback="http://me.example/") for tenant in ("acme", "zeta")]

    answers = await sink.take(messages)

    assert [type(each) for each in answers] == [Overloaded, Taken]


async def test_repeated_message_with_a_callback_is_accepted_while_deliveries_wait() -> None:
    floor = DiskFloor(Path("/"), 0)
    sink = RoomCheckedSink(Taking(), floor, waiting_callbacks=lambda *_: 1, is_known=lambda name: name == "old")
    messages = [replace(message(name), callback="http://me.example/") for name in ("old", "new")]

    answers = await sink.take(messages)

    assert [type(each) for each in answers] == [Taken, Overloaded]


async def test_rule_is_stored_before_it_is_applied() -> None:
    rules, seen = MemoryRules(), list[DomainRule | None]()
    both = CachedDomainRules(rules, lambda rule: seen.append(rules.get(rule.domain)))

    await both.put(DomainRule(domain="example.org", delay=2.0))

    assert seen == [DomainRule(domain="example.org", delay=2.0)]
    assert both.get("example.org") == DomainRule(domain="example.org", delay=2.0)
    assert both.all() == rules.all()


async def test_stored_rules_apply_after_a_restart_and_an_empty_rule_removes_one() -> None:
    rules = MemoryRules()
    await rules.put(DomainRule(domain="example.org", blocked=True))
    both = CachedDomainRules(rules, lambda rule: None)
    before = both.get("example.org")

    await both.put(DomainRule(domain="example.org"))

    assert before == DomainRule(domain="example.org", blocked=True)
    assert both.get("example.org") is None


async def test_url_is_pending_once_accepted(stores: SqliteStores) -> None:
    pending = partial(is_pending, stores.db.reader)
    before = pending("http://example.org/a")

    await stores.journal.accept([(message("m"), ["http://example.org/a"])])

    assert not before
    assert pending("http://example.org/a")
    assert not pending("http://example.org/b")
    assert not pending("http://example.com/a")
