"""The contract of stores of events and deliveries. Subclasses provide a fixture ``make``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tests.live.stores.fakes import LEASE, Stores, Time, accept, done, message, opened, url_of

from scoter.live.tenants import scoped_id

Make = Callable[..., Awaitable[Stores]]
HOOK = "https://me.example/hook"


async def announce(stores: Stores, *names: str, callback: str = "") -> None:
    await stores.journal.accept([(message(name, callback=callback), [url_of(name)]) for name in names])
    for entry in await stores.journal.open("r", len(names), LEASE):
        await stores.outcomes.record("r", [done(entry)])


async def announce_of(stores: Stores, tenant: str, name: str, callback: str = "") -> None:
    await stores.journal.accept([(message(scoped_id(tenant, name), callback=callback), [url_of(name)])])
    for entry in await stores.journal.open("r", 1, LEASE):
        await stores.outcomes.record("r", [done(entry)])


class EventsContract:
    """Of ``ports.Events``: numbers increase, and may skip some."""

    async def test_events_are_read_in_order_from_any_number(self, stores: Stores) -> None:
        assert (stores.events.first(), stores.events.last()) == (1, 0)

        await announce(stores, "a", "b", "c")

        found = await stores.events.since(0, 10)
        numbers = [event.number for event in found]
        assert [event.message for event in found] == ["a", "b", "c"]
        assert numbers == sorted(set(numbers))
        assert stores.events.first() <= numbers[0] <= numbers[-1] <= stores.events.last()
        assert await stores.events.since(0, 2) == found[:2]
        assert await stores.events.since(numbers[0], 10) == found[1:]
        assert await stores.events.since(numbers[1], 10) == found[2:]
        assert await stores.events.since(stores.events.last(), 10) == []
        assert await stores.events.since(stores.events.last() + 99, 10) == []

    async def test_recorder_returns_events_as_they_are_read(self, stores: Stores) -> None:
        await accept(stores.journal, "a", "b")
        entries = await stores.journal.open("r", 2, LEASE)

        announced = await stores.outcomes.record("r", [done(entry) for entry in entries])

        assert await stores.events.since(0, 10) == list(announced)

    async def test_event_names_the_tenant_and_the_id_that_it_chose(self, stores: Stores) -> None:
        await announce(stores, "a")
        await announce_of(stores, "acme", "b")

        found = await stores.events.since(0, 10)

        assert [(event.tenant, event.message) for event in found] == [("", "a"), ("acme", "b")]


class PrunedEventsContract(EventsContract):
    """Of events in a directory: their numbers skip none, and ``prune`` removes old ones."""

    async def test_numbers_skip_none(self, stores: Stores) -> None:
        await announce(stores, "a", "b", "c")

        assert (stores.events.first(), stores.events.last()) == (1, 3)
        assert [event.number for event in await stores.events.since(0, 10)] == [1, 2, 3]

    async def test_prune_removes_events_beyond_the_limit(self, make: Make) -> None:
        stores = await make(events_most=2)
        await announce(stores, "a", "b", "c", "d", "e")

        assert [await stores.events.prune(2) for _ in range(3)] == [2, 1, 0]
        assert (stores.events.first(), stores.events.last()) == (4, 5)
        assert [event.message for event in await stores.events.since(0, 10)] == ["d", "e"]

    async def test_prune_removes_old_events_and_numbers_are_never_reused(self, make: Make, time: Time) -> None:
        stores = await make(events_for=timedelta(hours=1))
        await announce(stores, "a")
        time.passes(1_800)
        await announce(stores, "b")

        time.passes(1_800)
        assert await stores.events.prune(10) == 1
        assert stores.events.first() == 2
        time.passes(1_800)
        assert await stores.events.prune(10) == 1

        assert (stores.events.first(), stores.events.last()) == (3, 2)
        await announce(stores, "c")
        assert [event.number for event in await stores.events.since(0, 10)] == [3]


async def sweep(stores: Stores) -> int:
    """Prune everything; return how much was removed."""
    gone = await stores.metadata.expire(10) + await stores.journal.prune(10)
    gone += await stores.events.prune(10) + await stores.deliveries.prune(10)
    await stores.keys.note_uses()
    return gone


class SweepContract:
    async def test_prune_removes_oldest_messages_and_deliveries_beyond_the_limit(self, make: Make, time: Time) -> None:
        stores = await make(messages_most=3, most_given_up=2)
        await accept(stores.journal, "open")
        assert await opened(stores.journal, "other") == ["open"]
        for name in "abcdef":
            time.passes(1)
            await announce(stores, name, callback=HOOK)
        for delivery in await stores.deliveries.due(4, LEASE):
            time.passes(1)
            await stores.deliveries.failed(delivery.id, None, "410 Gone")
        assert (stores.deliveries.waiting(1), stores.deliveries.waiting(9)) == (1, 2)

        gone = [await stores.journal.prune(2) for _ in range(3)]
        given_up = [await stores.deliveries.prune(9) for _ in range(2)]

        assert gone == [2, 1, 0]
        assert given_up == [2, 0]
        assert [stores.journal.is_done(name) for name in ("open", "c", "d")] == [False, None, True]
        assert len(stores.deliveries.given_up(9)) == stores.deliveries.waiting(9) == 2

    async def test_prune_without_age_applies_only_the_limits_on_number(self, make: Make, time: Time) -> None:
        stores = await make(messages_most=3, most_given_up=3, events_most=3)
        await announce(stores, *"abcde", callback=HOOK)
        for delivery in await stores.deliveries.due(5, LEASE):
            time.passes(1)
            await stores.deliveries.failed(delivery.id, None, "410 Gone")
        time.now += timedelta(days=9_999)

        kept = (stores.journal, stores.events, stores.deliveries)
        gone = [[await each.prune(9, by_age=False) for _ in range(2)] for each in kept]

        assert gone == [[2, 0]] * 3
        assert [stores.journal.is_done(name) for name in "abc"] == [None, None, True]
        assert stores.events.first() == 3
        assert [each.delivery.event.message for each in stores.deliveries.given_up(9)] == ["e", "d", "c"]
        assert [await each.prune(9) for each in kept] == [3, 3, 3]

    async def test_prune_removes_only_what_is_too_old(self, make: Make, time: Time) -> None:
        stores = await make(events_for=timedelta(hours=1), messages_for=timedelta(hours=1))
        _, token = await stores.keys.create("bot", ["read"])
        await announce(stores, "old", callback=HOOK)
        (delivery,) = await stores.deliveries.due(1, LEASE)
        await stores.deliveries.failed(delivery.id, None, "410 Gone")
        time.passes(8 * 86_400)
        await announce(stores, "new")
        await accept(stores.journal, "open")
        stores.keys.check(token)

        # Two records, both from the start; a message, an event and a delivery.
        assert [await sweep(stores) for _ in range(2)] == [5, 0]

        assert [stores.journal.is_done(name) for name in ("old", "new", "open")] == [None, True, False]
        assert stores.journal.waiting() == 1
        assert stores.events.first() == stores.events.last() == 2
        assert [key.last_used for key in stores.keys.all()] == [time.now]


class DeliveriesContract:
    async def test_delivery_is_leased_to_one_taker_until_its_lease_expires(self, stores: Stores, time: Time) -> None:
        await announce(stores, "a", "b", callback=HOOK)

        first = await stores.deliveries.due(1, LEASE)
        second = await stores.deliveries.due(10, LEASE)
        assert [each.event.message for each in (*first, *second)] == ["a", "b"]
        assert list(await stores.deliveries.due(10, LEASE)) == []

        time.passes(30)
        again = await stores.deliveries.due(10, LEASE)
        assert [(each.id, each.tries) for each in again] == [(each.id, 0) for each in (*first, *second)]

    async def test_delivered_event_is_not_due_again(self, stores: Stores, time: Time) -> None:
        await announce(stores, "a", "b", callback=HOOK)
        first, second = await stores.deliveries.due(2, LEASE)

        await stores.deliveries.delivered([first.id, "unknown"])
        time.passes(30)

        assert [each.id for each in await stores.deliveries.due(2, LEASE)] == [second.id]

    async def test_failed_delivery_is_due_again_on_time_regardless_of_wall_clock(
        self, stores: Stores, time: Time
    ) -> None:
        await announce(stores, "a", callback=HOOK)
        (delivery,) = await stores.deliveries.due(1, LEASE)

        await stores.deliveries.failed(delivery.id, timedelta(minutes=5), "503")
        time.now += timedelta(days=9)
        time.ticks += 299
        assert list(await stores.deliveries.due(1, LEASE)) == []

        time.ticks += 1
        (again,) = await stores.deliveries.due(1, LEASE)
        assert (again.id, again.tries) == (delivery.id, 1)

    async def test_put_off_delivery_is_due_again_without_counting_a_failure(self, stores: Stores, time: Time) -> None:
        await announce(stores, "a", "b", callback=HOOK)
        for _ in range(3):
            crowded, failing = await stores.deliveries.due(2, LEASE)
            await stores.deliveries.put_off({crowded.id: timedelta(seconds=1), "unknown": timedelta()})
            await stores.deliveries.failed(failing.id, timedelta(seconds=1), "503")
            assert list(await stores.deliveries.due(2, LEASE)) == []
            time.passes(1)

        assert [(each.id, each.tries) for each in await stores.deliveries.due(2, LEASE)] == [
            (crowded.id, 0),
            (failing.id, 3),
        ]

    async def test_given_up_delivery_cannot_be_put_off(self, stores: Stores, time: Time) -> None:
        await announce(stores, "a", callback=HOOK)
        (delivery,) = await stores.deliveries.due(1, LEASE)
        await stores.deliveries.failed(delivery.id, None, "410 Gone")

        await stores.deliveries.put_off({delivery.id: timedelta()})
        time.passes(1)

        assert list(await stores.deliveries.due(1, LEASE)) == []
        assert [each.delivery.tries for each in stores.deliveries.given_up(1)] == [1]

    async def test_given_up_delivery_is_listed_and_never_due(self, stores: Stores, time: Time) -> None:
        await announce(stores, "a", "b", callback=HOOK)
        for delivery in await stores.deliveries.due(2, LEASE):
            await stores.deliveries.failed(delivery.id, None, "410 Gone")
            await stores.deliveries.failed(delivery.id, timedelta(), "a late answer")
            time.passes(1)

        time.passes(3_600)
        assert list(await stores.deliveries.due(2, LEASE)) == []
        shown = stores.deliveries.given_up(10)
        assert [(each.delivery.event.message, each.why) for each in shown] == [("b", "410 Gone"), ("a", "410 Gone")]

        assert await stores.deliveries.prune(10) == 0
        time.passes(7 * 86_400)
        assert [await stores.deliveries.prune(1) for _ in range(3)] == [1, 1, 0]
        assert list(stores.deliveries.given_up(10)) == []

    async def test_unfinished_deliveries_are_listed_and_resent_on_request(self, stores: Stores, time: Time) -> None:
        await announce(stores, "a", "b", callback="https://hook.example/")
        first, second = await stores.deliveries.due(10, timedelta(seconds=60))
        await stores.deliveries.failed(first.id, None, "HTTP 500")
        await stores.deliveries.failed(second.id, timedelta(hours=1), "HTTP 503")

        listed = await stores.deliveries.unfinished(10)
        assert [(each.delivery.id, each.why) for each in listed] == [(second.id, "HTTP 503"), (first.id, "HTTP 500")]
        assert listed[0].again_in == timedelta(hours=1)
        assert listed[1].given_up is not None
        assert await stores.deliveries.due(10, timedelta(seconds=60)) == []

        assert await stores.deliveries.resend(first.id)
        assert not await stores.deliveries.resend("unknown")
        assert [each.id for each in await stores.deliveries.due(10, timedelta(seconds=60))] == [first.id]
        assert (await stores.deliveries.unfinished(1))[0].delivery.id == second.id

    async def test_delivery_outlives_its_event(self, make: Make) -> None:
        stores = await make(events_most=0)
        await announce(stores, "a", callback=HOOK)
        (event,) = await stores.events.since(0, 1)

        assert await stores.events.prune(10) == 1

        assert [each.event for each in await stores.deliveries.due(1, LEASE)] == [event]

    async def test_message_without_callback_has_no_delivery(self, stores: Stores) -> None:
        await accept(stores.journal, "waiting")
        await announce(stores, "a")

        assert list(await stores.deliveries.due(1, LEASE)) == []

    async def test_deliveries_of_a_tenant_are_listed_and_sent_again_for_it_only(self, stores: Stores) -> None:
        await announce(stores, "a", callback=HOOK)
        await announce_of(stores, "acme", "b", callback=HOOK)

        listed = {
            tenant: [each.delivery.event.url for each in await stores.deliveries.unfinished(9, tenant)]
            for tenant in (None, "", "acme", "zeta")
        }
        (own,) = await stores.deliveries.unfinished(9, "acme")

        assert listed == {None: [url_of("b"), url_of("a")], "": [url_of("a")], "acme": [url_of("b")], "zeta": []}
        assert (own.delivery.event.tenant, own.delivery.event.message) == ("acme", "b")
        assert [stores.deliveries.waiting(9, tenant) for tenant in (None, "", "acme", "zeta")] == [2, 1, 1, 0]
        resent = [await stores.deliveries.resend(own.delivery.id, tenant) for tenant in ("", "zeta", "acme", None)]
        assert resent == [False, False, True, True]
