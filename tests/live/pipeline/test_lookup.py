from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.live.fakes import READER, Bench, ScriptedWeb, moved, page, picture, simulated

from scoter.live.pipeline.context import Context, OutcomeSource
from scoter.live.ports import JournalEntry
from scoter.live.records import Priority, State

A, B, C = (f"http://{name}.example/" for name in "abc")


def working(bench: Bench, entries: Sequence[JournalEntry]) -> list[asyncio.Task[Context]]:
    async def work(entry: JournalEntry) -> Context:
        return await bench.work(entry)

    return [asyncio.create_task(work(entry)) for entry in entries]


async def lend_to_another(bench: Bench, entry: JournalEntry) -> None:
    """Let an entry's lease expire, and open it for another reader."""
    await bench.stores.journal.abort(READER, [entry.id])
    assert entry.id in {other.id for other in await bench.stores.journal.open("another", 1, timedelta(seconds=30))}


@simulated
async def test_known_url_is_answered_without_a_fetch() -> None:
    bench = Bench(ScriptedWeb({A: page()}))
    first = await bench.submit(A)

    second = await bench.submit(A)

    assert bench.web.asked == [A]
    assert second.record == first.record
    assert (second.source, second.is_recorded) == (OutcomeSource.KNOWN, True)
    assert [event.message for event in bench.events] == ["m1", "m2"]


@simulated
async def test_force_fetches_a_known_url_again() -> None:
    bench = Bench(ScriptedWeb({A: page()}))
    await bench.submit(A)

    again = await bench.submit(A, force=True)

    assert bench.web.asked == [A, A]
    assert again.source is OutcomeSource.FETCHED


@simulated
async def test_known_url_is_answered_only_within_known_for() -> None:
    bench = Bench(ScriptedWeb({A: page()}), known_for=timedelta(hours=1))
    await bench.submit(A)
    await asyncio.sleep(3599)
    await bench.submit(A)
    assert bench.web.asked == [A]

    await asyncio.sleep(1)
    await bench.submit(A)

    assert bench.web.asked == [A, A]


@simulated
async def test_shorter_known_for_applies_to_records_stored_before() -> None:
    before = Bench(ScriptedWeb({A: page()}), known_for=timedelta(days=9))
    await before.submit(A)
    await asyncio.sleep(7200)
    after = Bench(before.web, stores=before.stores, known_for=timedelta(hours=1))

    await after.submit(A, id="later")

    assert before.web.asked == [A, A]


@simulated
async def test_undecodable_record_is_treated_as_unknown() -> None:
    bench = Bench(ScriptedWeb({A: page()}))
    await bench.submit(A)
    stored = bench.stores.metadata.fresh(A)
    assert stored is not None
    await bench.stores.metadata.put([replace(stored, value=b'{"url":1}')])

    again = await bench.submit(A)

    assert again.source is OutcomeSource.FETCHED


@simulated
async def test_concurrent_entries_share_one_fetch_and_are_each_recorded() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=1))
    entries = [*await bench.open(A), *await bench.open(A), *await bench.open(A, force=True)]

    done = await asyncio.gather(*working(bench, entries))

    assert bench.web.asked == [A]
    assert [each.source for each in done] == [OutcomeSource.FETCHED, OutcomeSource.JOINED, OutcomeSource.JOINED]
    assert {each.record and each.record.fetch for each in done} == {done[0].fetch}
    assert [event.message for event in bench.events] == ["m1", "m2", "m3"]
    assert [len(each.exchanges) for each in done] == [1, 0, 0]  # a fetch is counted once
    assert bench.stores.journal.waiting() == 0


@pytest.mark.parametrize("seconds", [0.5, 1.5, 2.0])
def test_entry_that_arrives_between_fetch_and_record_joins(seconds: float) -> None:
    @simulated
    async def check() -> None:
        bench = Bench(ScriptedWeb({A: page()}))
        bench.content.takes = bench.outcomes.takes = 1.0
        (first,) = await bench.open(A)
        (second,) = await bench.open(A)
        (task,) = working(bench, [first])
        await asyncio.sleep(seconds)

        later = await bench.work(second)

        await task
        assert bench.web.asked == [A]
        assert later.source in (OutcomeSource.JOINED, OutcomeSource.KNOWN)
        assert len(bench.events) == 2

    check()


@simulated
async def test_fetch_continues_for_others_when_the_first_is_cancelled() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=1))
    entries = [*await bench.open(A), *await bench.open(A), *await bench.open(A)]
    first, second, third = working(bench, entries)
    await asyncio.sleep(0.5)

    first.cancel()

    done = await second, await third
    assert bench.web.asked == [A]
    assert bench.web.cancelled == []
    assert [each.is_recorded for each in done] == [True, True]
    assert bench.known(A) is not None


@simulated
async def test_joined_entry_stores_the_records_if_the_first_lost_its_lease() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=1))
    (first,) = await bench.open(A)
    (second,) = await bench.open(A)
    one, two = working(bench, [first, second])
    await asyncio.sleep(0.5)
    await lend_to_another(bench, first)

    lost, joined = await one, await two

    assert (lost.is_recorded, joined.is_recorded) == (False, True)
    assert bench.known(A) == joined.record
    assert [event.message for event in bench.events] == ["m2"]


@simulated
async def test_entries_may_join_until_the_records_are_stored() -> None:
    bench = Bench(ScriptedWeb({A: page()}))
    bench.outcomes.takes = 2
    first, second, third = [*await bench.open(A), *await bench.open(A), *await bench.open(A)]
    one, two = working(bench, [first, second])
    await asyncio.sleep(1)
    await lend_to_another(bench, first)
    await asyncio.sleep(2)

    joined = await bench.work(third)

    await asyncio.gather(one, two)
    assert bench.web.asked == [A]
    assert joined.source is OutcomeSource.JOINED
    assert len(bench.events) == 2


@simulated
async def test_entry_that_lost_its_lease_stores_nothing() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=1))
    (entry,) = await bench.open(A)
    (task,) = working(bench, [entry])
    await asyncio.sleep(0.5)
    await lend_to_another(bench, entry)

    done = await task

    assert not done.is_recorded
    assert bench.known(A) is None
    assert list(bench.events) == []


@simulated
async def test_fetch_ends_when_the_last_waiter_is_cancelled() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=60))
    bench.web.ends_after = 3
    tasks = working(bench, [*await bench.open(A), *await bench.open(A)])
    await asyncio.sleep(1)

    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert bench.web.cancelled == [A]
    assert len(asyncio.all_tasks()) == 1


@simulated
async def test_entry_that_arrives_during_cancellation_starts_a_new_fetch() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=1))
    bench.web.ends_after = 3
    first, second = [*await bench.open(A), *await bench.open(A)]
    (task,) = working(bench, [first])
    await asyncio.sleep(0.5)
    task.cancel()
    await asyncio.sleep(0.5)

    (later,) = working(bench, [second])

    assert (await later).is_recorded
    assert bench.known(A) is not None


@simulated
async def test_defect_reaches_all_waiters_and_the_next_entry_retries() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=1))
    bench.web.defect = RuntimeError("broken")
    entries = [*await bench.open(A), *await bench.open(A), *await bench.open(A)]

    failures = await asyncio.gather(*working(bench, entries[:2]), return_exceptions=True)
    bench.web.defect = None
    done = await bench.work(entries[2])

    assert [str(failure) for failure in failures] == ["broken", "broken"]
    assert done.is_recorded
    assert bench.web.asked == [A, A]
    assert len(bench.events) == 1


@simulated
async def test_concurrent_chains_share_a_hop() -> None:
    bench = Bench(ScriptedWeb({A: moved(C), B: moved(C), C: page()}, takes=1))
    entries = [*await bench.open(A), *await bench.open(B), *await bench.open(C)]

    done = await asyncio.gather(*working(bench, entries))

    assert sorted(bench.web.asked) == [A, B, C]
    assert [each.record and each.record.state for each in done] == [State.OK] * 3


@simulated
async def test_finished_hop_is_shared_until_it_is_recorded() -> None:
    bench = Bench(ScriptedWeb({A: moved(C), B: moved(C), C: page()}))
    bench.content.takes = 10
    first, second = [*await bench.open(A), *await bench.open(B)]
    (one,) = working(bench, [first])
    await asyncio.sleep(5)

    (two,) = working(bench, [second])
    await asyncio.gather(one, two)

    assert bench.web.asked == [A, C, B]


@pytest.mark.parametrize("steps", range(80))
def test_hop_is_never_repeated_whenever_the_next_chain_arrives(steps: int) -> None:
    @simulated
    async def check() -> None:
        bench = Bench(ScriptedWeb({A: moved(B), B: page()}))
        first, second = [*await bench.open(A), *await bench.open(B)]
        (one,) = working(bench, [first])
        for _ in range(steps):
            await asyncio.sleep(0)

        (two,) = working(bench, [second])

        await asyncio.gather(one, two)
        assert sorted(bench.web.asked) == [A, B]
        assert len(bench.events) == 2

    check()


@simulated
async def test_chains_that_lead_to_each_other_do_not_deadlock() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: moved(A)}, takes=1))
    entries = [*await bench.open(A), *await bench.open(B)]

    done = await asyncio.gather(*working(bench, entries))

    assert sorted(bench.web.asked) == [A, B]
    assert [each.record and each.record.reason for each in done] == ["redirects", "redirects"]


@simulated
async def test_chain_continues_when_the_one_that_made_its_hop_is_cancelled() -> None:
    bench = Bench(ScriptedWeb({A: moved(C), B: moved(C), C: page()}))
    bench.web.takes = lambda url: 10 if url == C else 0
    one, two = working(bench, [*await bench.open(A), *await bench.open(B)])
    await asyncio.sleep(5)

    one.cancel()

    assert (await two).is_recorded
    assert bench.web.asked.count(C) == 1


@simulated
async def test_time_of_a_joined_fetch_counts_as_waiting() -> None:
    bench = Bench(ScriptedWeb({A: moved(C), B: moved(C), C: page()}))
    bench.web.takes = lambda url: 10 if url == C else 0
    one, two = working(bench, [*await bench.open(A), *await bench.open(B)])

    _, second = await one, await two

    assert second.waited == pytest.approx(10)
    assert second.remote == 0


@simulated
async def test_timing_of_a_joined_fetch_starts_when_it_is_joined() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=10))
    (first,) = await bench.open(A)
    (loading,) = working(bench, [first])
    await asyncio.sleep(4)
    (second,) = await bench.open(A)

    joined = await bench.work(second)

    await loading
    assert dict(joined.timings)["joined"] == pytest.approx(6)


@simulated
async def test_urgent_entry_raises_the_priority_of_the_fetch_it_joins() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: moved(C), C: page()}, takes=1))
    (bulk,) = await bench.open(A, priority=Priority.BULK)
    (loading,) = working(bench, [bulk])
    await asyncio.sleep(0.5)

    (person,) = await bench.open(A, priority=Priority.PERSON)
    told = await bench.work(person)

    await loading
    assert told.source is OutcomeSource.JOINED
    assert bench.web.raised == [(A, Priority.PERSON)]
    assert bench.web.priorities == [Priority.BULK, Priority.PERSON, Priority.PERSON]


@simulated
async def test_urgent_chain_raises_the_priority_of_a_shared_hop() -> None:
    bench = Bench(ScriptedWeb({A: moved(C), B: page(), C: page()}, takes=1))
    bench.web.takes = lambda url: 10.0 if url == C else 1.0
    (loading,) = working(bench, await bench.open(C, priority=Priority.BULK))
    await asyncio.sleep(0.5)

    await bench.submit(A, priority=Priority.PERSON)

    await loading
    assert bench.web.asked == [C, A]
    assert bench.web.raised == [(C, Priority.PERSON)]


@simulated
async def test_bulk_entry_does_not_lower_the_priority_of_the_fetch_it_joins() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: page()}, takes=1))
    (asking,) = working(bench, await bench.open(A, priority=Priority.PERSON))
    await asyncio.sleep(0.5)

    await bench.submit(A, priority=Priority.BULK)

    await asking
    assert bench.web.raised == []
    assert bench.web.priorities == [Priority.PERSON, Priority.PERSON]


@simulated
async def test_forced_entry_does_not_accept_an_older_response() -> None:
    bench = Bench(ScriptedWeb({A: page()}))
    bench.outcomes.takes = 2.0
    (loading,) = working(bench, await bench.open(A))
    await asyncio.sleep(1)  # fetched, and about to be recorded

    (forced,) = await bench.open(A, force=True)
    done = await bench.work(forced)

    await loading
    assert bench.web.asked == [A, A]
    assert done.record is not None
    assert done.record.fetched_at > forced.accepted
    assert done.source is OutcomeSource.FETCHED


IMAGE = "http://images.example/i.png"


def slow_image() -> ScriptedWeb:
    web = ScriptedWeb({A: page(f'<title>Old</title><meta property="og:image" content="{IMAGE}">'), IMAGE: picture()})
    web.takes = lambda url: 10.0 if url == IMAGE else 0.0
    return web


@simulated
async def test_forced_entry_does_not_accept_an_older_page_with_a_pending_image() -> None:
    bench = Bench(slow_image(), fetch_image=True)
    (loading,) = working(bench, await bench.open(A))
    await asyncio.sleep(5)

    bench.web.answers[A] = page("<title>New</title>")
    done = await bench.submit(A, force=True)

    await loading
    assert bench.web.asked.count(A) == 2
    assert done.record is not None
    assert done.record.metadata is not None
    assert done.record.metadata.title == "New"


@simulated
async def test_older_response_recorded_later_does_not_replace_a_newer_one() -> None:
    web = slow_image()
    web.answers["http://short.example/"] = moved(A)
    bench = Bench(web, fetch_image=True)
    (loading,) = working(bench, await bench.open("http://short.example/"))
    await asyncio.sleep(5)
    web.answers[A] = page("<title>New</title>")
    await bench.submit(A, force=True)

    await loading

    found = bench.known(A)
    assert found is not None
    assert found.metadata is not None
    assert found.metadata.title == "New"
