"""The contracts of journals and recorders of outcomes. Subclasses provide a fixture ``make``.

``IntakeContract`` and ``LedgerContract`` use only the ports: they hold for every implementation. ``JournalContract``
adds what the embedded journal also knows, because one process sees all messages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tests.live.stores.fakes import LEASE, START, Stores, Time, accept, done, message, opened, record_of, url_of

from scoter.live.ports import JournalEntry, UrlOutcome
from scoter.live.records import Message, Priority, State
from scoter.live.tenants import scoped_id

Make = Callable[..., Awaitable[Stores]]


def open_entries(stores: Stores) -> int:
    return sum(stores.journal.depth().values())


class IntakeContract:
    """Of ``ports.Intake``."""

    def accepted_number(self, entry: JournalEntry) -> int:
        """Return the number that ``accept`` has returned for an entry."""
        return entry.id

    async def test_opened_entry_has_all_fields_of_its_message(self, stores: Stores) -> None:
        asked = message("m", priority=Priority.PERSON, callback="https://me.example/hook", force=True)

        (accepted,) = await stores.journal.accept([(asked, [url_of("a"), url_of("b"), url_of("a")])])
        entries = await stores.journal.open("r", 10, LEASE)

        assert accepted.is_new
        assert accepted.entries == {entry.url: self.accepted_number(entry) for entry in entries}
        assert [entry.url for entry in entries] == [url_of("a"), url_of("b")]
        assert {(e.message, e.priority, e.force, e.callback, e.accepted, e.tries) for e in entries} == {
            ("m", Priority.PERSON, True, "https://me.example/hook", START, 0)
        }

    async def test_repeated_message_is_one_message(self, stores: Stores) -> None:
        (first,) = await stores.journal.accept([(message("m"), [url_of("a"), url_of("b")])])

        again, within = await stores.journal.accept([(message("m"), [url_of("c")]), (message("m"), [])])

        assert (again.is_new, within.is_new) == (False, False)
        assert again.entries == first.entries
        assert open_entries(stores) == 2

    async def test_message_repeated_within_a_call_is_one_message(self, stores: Stores) -> None:
        first, again = await stores.journal.accept([(message("m"), [url_of("a")]), (message("m"), [url_of("b")])])

        assert (first.is_new, again.is_new) == (True, False)
        assert set(first.entries) == {url_of("a")}
        assert again.entries == first.entries
        assert open_entries(stores) == 1

    async def test_reused_id_with_other_content_is_a_conflict(self, stores: Stores) -> None:
        def content(text: bytes, name: str) -> tuple[Message, list[str]]:
            return message("m", digest=text), [url_of(name)]

        (first,) = await stores.journal.accept([content(b"one", "a")])

        (same,) = await stores.journal.accept([content(b"one", "a")])
        (other,) = await stores.journal.accept([content(b"two", "b")])

        assert (first.is_new, same.is_new, other.is_new) == (True, False, False)
        assert (same.is_conflict, same.entries) == (False, first.entries)
        assert (other.is_conflict, dict(other.entries)) == (True, {})
        assert open_entries(stores) == 1

    async def test_id_reused_within_a_call_with_other_content_is_a_conflict(self, stores: Stores) -> None:
        first, other = await stores.journal.accept(
            [(message("m", digest=b"one"), [url_of("a")]), (message("m", digest=b"two"), [url_of("b")])]
        )

        assert (first.is_new, other.is_new, other.is_conflict, dict(other.entries)) == (True, False, True, {})
        assert open_entries(stores) == 1

    async def test_message_whose_content_is_unknown_conflicts_with_none(self, stores: Stores) -> None:
        (first,) = await stores.journal.accept([(message("m"), [url_of("a")])])  # moved from another service

        (again,) = await stores.journal.accept([(message("m", digest=b"one"), [url_of("a")])])

        assert (again.is_new, again.is_conflict, again.entries) == (False, False, first.entries)

    async def test_same_id_of_two_tenants_means_two_messages(self, stores: Stores) -> None:
        accepted = await stores.journal.accept(
            [
                (message(scoped_id(tenant, "m"), digest=tenant.encode()), [url_of(tenant or "none")])
                for tenant in ("", "acme", "zeta")
            ]
        )

        entries = await stores.journal.open("r", 10, LEASE)
        events = await stores.outcomes.record("r", [done(entry) for entry in entries])

        assert [each.is_new for each in accepted] == [True] * 3
        found = {(event.tenant, event.message, event.url) for event in events if event is not None}
        assert found == {("", "m", url_of("none")), ("acme", "m", url_of("acme")), ("zeta", "m", url_of("zeta"))}

    async def test_finished_message_is_still_known(self, stores: Stores) -> None:
        (first,) = await stores.journal.accept([(message("m"), [url_of("a")])])
        for entry in await stores.journal.open("r", 1, LEASE):
            await stores.outcomes.record("r", [done(entry)])

        (again,) = await stores.journal.accept([(message("m"), [url_of("a")])])

        assert (again.is_new, again.entries) == (False, first.entries)
        assert await opened(stores.journal) == []

    async def test_message_without_urls_is_known_and_has_no_entries(self, stores: Stores) -> None:
        (accepted,) = await stores.journal.accept([(message("m"), [])])
        (again,) = await stores.journal.accept([(message("m"), [])])

        assert (accepted.is_new, dict(accepted.entries)) == (True, {})
        assert (again.is_new, dict(again.entries)) == (False, {})
        assert open_entries(stores) == 0

    async def test_entries_are_opened_by_priority_then_age(self, stores: Stores) -> None:
        await accept(stores.journal, "bulk", priority=Priority.BULK)
        await accept(stores.journal, "one", "two")
        await accept(stores.journal, "person", priority=Priority.PERSON)

        assert await opened(stores.journal, most=2) == ["person", "one"]
        assert await opened(stores.journal) == ["two", "bulk"]

    async def test_entry_is_leased_to_one_reader_at_a_time(self, stores: Stores) -> None:
        await accept(stores.journal, "a", "b")

        assert await opened(stores.journal, "first", most=1) == ["a"]
        assert await opened(stores.journal, "second") == ["b"]
        assert await opened(stores.journal, "third") == []

    async def test_expired_entry_is_leased_again_at_its_old_place(self, stores: Stores, time: Time) -> None:
        await accept(stores.journal, "a", "b")
        await opened(stores.journal, most=1)

        time.passes(29.9)
        assert await opened(stores.journal, "second", most=1) == ["b"]
        time.passes(0.1)
        again = await stores.journal.open("second", 10, LEASE)

        assert [(entry.message, entry.tries) for entry in again] == [("a", 1)]

    async def test_lease_ignores_the_wall_clock(self, stores: Stores, time: Time) -> None:
        await accept(stores.journal, "a")
        await opened(stores.journal)

        time.now += timedelta(days=400)
        assert await opened(stores.journal, "second") == []

        time.now -= timedelta(days=800)
        time.ticks += 30
        assert await opened(stores.journal, "second") == ["a"]

    async def test_renew_extends_only_leases_still_held(self, stores: Stores, time: Time) -> None:
        await accept(stores.journal, "a", "b")
        entries = [entry.id for entry in await stores.journal.open("r", 2, LEASE)]
        time.passes(29)

        assert list(await stores.journal.renew("r", [*entries, 999], LEASE)) == entries
        assert list(await stores.journal.renew("other", entries, LEASE)) == []

        time.passes(29)
        assert await opened(stores.journal, "other") == []

    async def test_late_reader_keeps_its_entry_until_it_is_leased_again(self, stores: Stores, time: Time) -> None:
        await accept(stores.journal, "a", "b")
        first, second = await stores.journal.open("r", 2, LEASE)
        time.passes(60)

        (event,) = await stores.outcomes.record("r", [done(first)])
        assert event is not None
        assert list(await stores.journal.renew("r", [second.id], LEASE)) == [second.id]

        time.passes(60)
        assert await opened(stores.journal, "other") == ["b"]
        assert list(await stores.journal.renew("r", [second.id], LEASE)) == []
        assert await stores.outcomes.record("r", [done(second)]) == [None]

    async def test_aborted_entry_is_available_at_once_without_counting_a_try(self, stores: Stores) -> None:
        await accept(stores.journal, "a", "b")
        entries = [entry.id for entry in await stores.journal.open("r", 2, LEASE)]

        await stores.journal.abort("other", entries)
        assert await opened(stores.journal, "other") == []

        await stores.journal.abort("r", entries)
        again = await stores.journal.open("other", 2, LEASE)
        assert [(entry.message, entry.tries) for entry in again] == [("a", 0), ("b", 0)]

    async def test_depth_counts_open_entries(self, stores: Stores) -> None:
        await accept(stores.journal, "a", "b")
        await accept(stores.journal, "c", priority=Priority.BULK)
        first, *_ = await stores.journal.open("r", 10, LEASE)

        assert stores.journal.depth() == {Priority.PERSON: 0, Priority.NORMAL: 2, Priority.BULK: 1}
        await stores.outcomes.record("r", [done(first)])

        assert stores.journal.depth() == {Priority.PERSON: 0, Priority.NORMAL: 1, Priority.BULK: 1}

    async def test_at_most_a_window_per_domain_and_priority_is_leased(self, make: Make, time: Time) -> None:
        stores = await make(in_flight_per_domain=2)
        slow = [f"http://slow.example/{n}" for n in range(5)]
        await stores.journal.accept([(message("m"), slow)])
        await accept(stores.journal, "other")
        await stores.journal.accept([(message("p", priority=Priority.PERSON), ["http://www.slow.example/"])])

        first = await stores.journal.open("r", 10, LEASE)
        assert [entry.url for entry in first] == ["http://www.slow.example/", *slow[:2], url_of("other")]
        assert list(await stores.journal.open("another", 10, LEASE)) == []

        await stores.outcomes.record("r", [done(first[1])])
        (second,) = await stores.journal.open("another", 10, LEASE)
        await stores.journal.abort("another", [second.id])
        (again,) = await stores.journal.open("r", 10, LEASE)
        assert again.url == second.url == slow[2]

        time.passes(30)
        late = await stores.journal.open("third", 10, LEASE)
        assert [entry.url for entry in late] == ["http://www.slow.example/", slow[1], slow[2], url_of("other")]

    async def test_oldest_age_ignores_closed_entries(self, stores: Stores, time: Time) -> None:
        assert stores.journal.oldest() is None
        await accept(stores.journal, "a")
        await accept(stores.journal, "b", at=START + timedelta(seconds=5))
        time.passes(20)
        assert stores.journal.oldest() == timedelta(seconds=20)

        (first,) = await stores.journal.open("r", 1, LEASE)
        await stores.outcomes.record("r", [done(first)])
        assert stores.journal.oldest() == timedelta(seconds=15)

        time.now -= timedelta(days=1)
        assert stores.journal.oldest() == timedelta()

    async def test_old_bulk_entries_get_a_share_despite_urgent_ones(self, make: Make, time: Time) -> None:
        stores = await make(patience=timedelta(seconds=60))
        await accept(stores.journal, *(f"bulk{n}" for n in range(10)), priority=Priority.BULK)
        await accept(stores.journal, *(f"p{n}" for n in range(100)), priority=Priority.PERSON)

        early = [await opened(stores.journal, most=1) for _ in range(16)]
        assert not [name for (name,) in early if name.startswith("bulk")]

        time.now += timedelta(seconds=60)
        late = [await opened(stores.journal, most=1) for _ in range(16)]
        assert [name for (name,) in late if name.startswith("bulk")] == ["bulk0", "bulk1"]
        together = await opened(stores.journal, most=24)
        assert [name for name in together if name.startswith("bulk")] == ["bulk2", "bulk3", "bulk4"]
        assert len(together) == 24

    async def test_entry_opened_too_often_ends_as_failed(self, make: Make, time: Time) -> None:
        stores = await make(tries=3)
        await stores.journal.accept([(message("m", callback="https://me.example/"), [url_of("a")])])
        for _ in range(3):
            assert await opened(stores.journal) == ["m"]
            time.passes(30)
        assert stores.events.last() == 0

        assert await opened(stores.journal) == []

        (event,) = await stores.events.since(0, 10)
        (delivery,) = await stores.deliveries.due(10, LEASE)
        assert (event.message, event.url) == ("m", url_of("a"))
        assert (event.record.state, event.record.reason) == (State.FAILED, "given_up")
        assert delivery.event == event
        assert open_entries(stores) == 0


class JournalContract(IntakeContract):
    """Of the journal in a directory."""

    async def test_finished_message_is_remembered_for_a_while(self, make: Make, time: Time) -> None:
        stores = await make(messages_for=timedelta(minutes=10))
        (first,) = await stores.journal.accept([(message("m"), [url_of("a")])])
        for entry in await stores.journal.open("r", 1, LEASE):
            await stores.outcomes.record("r", [done(entry)])

        time.passes(599)
        pruned = await stores.journal.prune(100)
        (again,) = await stores.journal.accept([(message("m"), [url_of("a")])])
        assert (pruned, again.is_new, again.entries) == (0, False, first.entries)

        time.passes(1)
        pruned = await stores.journal.prune(100)
        (new,) = await stores.journal.accept([(message("m"), [url_of("a")])])
        assert (pruned, new.is_new) == (1, True)
        assert set(new.entries.values()).isdisjoint(first.entries.values())

    async def test_prune_removes_a_bounded_number_and_no_open_message(self, make: Make, time: Time) -> None:
        stores = await make(messages_for=timedelta(minutes=10))
        await stores.journal.accept([(message(f"empty{n}"), []) for n in range(5)])
        await accept(stores.journal, "open")
        time.passes(10_000)

        assert [await stores.journal.prune(3) for _ in range(3)] == [3, 2, 0]
        assert stores.journal.is_done("open") is False

    async def test_message_is_done_when_its_last_url_is_done(self, stores: Stores) -> None:
        await stores.journal.accept([(message("m"), [url_of("a"), url_of("b")])])
        first, second = await stores.journal.open("r", 2, LEASE)

        await stores.outcomes.record("r", [done(first)])
        assert stores.journal.is_done("m") is False

        await stores.outcomes.record("r", [done(second)])
        assert stores.journal.is_done("m") is True
        assert stores.journal.is_done("another") is None

    async def test_backlog_of_a_domain_counts_all_its_hosts(self, stores: Stores) -> None:
        urls = ["https://www.a.co.uk/1", "http://b.a.co.uk:8080/", "https://b.co.uk/", "http://127.0.0.1/"]
        await stores.journal.accept([(message("m"), urls)])
        assert stores.journal.waiting() == 4
        assert [stores.journal.waiting_of(name) for name in ("a.co.uk", "b.co.uk", "127.0.0.1", "c")] == [2, 1, 1, 0]

        for entry in await stores.journal.open("r", 3, LEASE):
            await stores.outcomes.record("r", [done(entry)])

        assert [stores.journal.waiting_of(name) for name in ("a.co.uk", "b.co.uk", "127.0.0.1")] == [0, 0, 1]

    async def test_message_without_urls_is_done_at_once(self, stores: Stores) -> None:
        await stores.journal.accept([(message("m"), [])])

        assert stores.journal.is_done("m") is True

    async def test_message_is_done_when_its_last_url_was_given_up(self, make: Make, time: Time) -> None:
        stores = await make(tries=1)
        await accept(stores.journal, "a")
        assert await opened(stores.journal) == ["a"]
        time.passes(30)

        assert await opened(stores.journal) == []

        assert stores.journal.is_done("a") is True
        assert stores.journal.waiting() == stores.journal.waiting_of("a.example") == 0

    async def test_open_entries_are_counted_by_tenant(self, stores: Stores) -> None:
        for tenant, names in (("", "a"), ("acme", "bc"), ("acme", "d")):
            urls = [url_of(name) for name in names]
            await stores.journal.accept([(message(scoped_id(tenant, f"m-{names}")), urls)])
        assert [stores.journal.waiting_for(tenant) for tenant in ("", "acme", "zeta")] == [1, 3, 0]

        for entry in await stores.journal.open("r", 2, LEASE):
            await stores.outcomes.record("r", [done(entry)])
        assert [stores.journal.waiting_for(tenant) for tenant in ("", "acme", "zeta")] == [0, 2, 0]


class LedgerContract:
    """Of ``ports.OutcomeRecorder``."""

    async def test_outcome_is_stored_announced_and_closed(self, stores: Stores) -> None:
        await accept(stores.journal, "a")
        (entry,) = await stores.journal.open("r", 1, LEASE)

        (event,) = await stores.outcomes.record("r", [done(entry, value=b"[1]")])

        assert event is not None
        assert await stores.events.since(0, 10) == [event]
        assert (event.message, event.url, event.at, event.record) == ("a", url_of("a"), START, record_of(url_of("a")))
        found = await stores.metadata.get(url_of("a"))
        assert found is not None
        assert found.value == b"[1]"
        assert open_entries(stores) == 0
        assert list(await stores.deliveries.due(1, LEASE)) == []

    async def test_outcome_is_recorded_once(self, stores: Stores) -> None:
        await accept(stores.journal, "a")
        (entry,) = await stores.journal.open("r", 1, LEASE)

        events = await stores.outcomes.record("r", [done(entry, fetch="1"), done(entry, fetch="2", value=b"[2]")])
        later = await stores.outcomes.record("r", [done(entry, fetch="3", value=b"[3]")])

        assert [event and event.record.fetch for event in events] == ["1", None]
        assert list(later) == [None]
        assert len(await stores.events.since(0, 10)) == 1
        found = await stores.metadata.get(url_of("a"))
        assert found is not None
        assert found.value == b"{}"

    async def test_outcome_of_a_lost_entry_is_not_stored(self, stores: Stores, time: Time) -> None:
        await accept(stores.journal, "a", "b")
        mine, other = await stores.journal.open("r", 2, LEASE)
        await stores.journal.abort("r", [other.id])
        await opened(stores.journal, "another")

        events = await stores.outcomes.record("r", [done(other), done(mine)])

        assert [event and event.message for event in events] == [None, "a"]
        assert await stores.metadata.get(other.url) is None
        assert open_entries(stores) == 1

    async def test_callback_gets_a_delivery(self, stores: Stores) -> None:
        await stores.journal.accept([(message("m", callback="https://me.example/hook"), [url_of("a")])])
        (entry,) = await stores.journal.open("r", 1, LEASE)

        (event,) = await stores.outcomes.record("r", [done(entry)])
        (delivery,) = await stores.deliveries.due(10, LEASE)

        assert (delivery.callback, delivery.event, delivery.tries) == ("https://me.example/hook", event, 0)

    async def test_rows_of_a_chain_are_stored_together(self, stores: Stores) -> None:
        await accept(stores.journal, "a")
        (entry,) = await stores.journal.open("r", 1, LEASE)
        rows = [*done(entry).rows, *(done(entry).rows)]

        await stores.outcomes.record("r", [UrlOutcome(entry=entry, record=record_of(entry.url), rows=rows)])

        assert await stores.metadata.get(entry.url) == rows[0]
