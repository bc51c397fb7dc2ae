"""Failures that may pass are retried; a URL that cannot be fetched again keeps its last good record for a while."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.live.fakes import (
    NOW,
    Bench,
    Script,
    ScriptedWeb,
    clock,
    exchange,
    failed,
    gone,
    moved,
    page,
    simulated,
    until_idle,
)

from scoter.core.reply import Reason, Reply, reply_to
from scoter.core.url import Url
from scoter.live.pipeline.context import OutcomeSource
from scoter.live.pipeline.retries import RetryTimer
from scoter.live.records import Priority, State, UrlRecord

A, B = "http://a.example/", "http://b.example/"
KNOWN_FOR, FAILED_FOR, STALE_FOR = timedelta(days=1), timedelta(minutes=10), timedelta(days=2)
GOOD = page("<title>Good</title>")


def busy(status: int, after: str = "") -> Script:
    headers = (("Retry-After", after),) if after else ()
    return lambda url: reply_to(exchange(url, status, headers=headers), NOW)


def in_turn(*scripts: Script) -> Script:
    """Return a script that answers like each of these in turn, and then always like the last one."""
    left = list(scripts)

    def answer(url: Url) -> Reply:
        return (left.pop(0) if len(left) > 1 else left[0])(url)

    return answer


def bench_of(web: ScriptedWeb, **live: Any) -> Bench:
    return Bench(web, **{"known_for": KNOWN_FOR, "failed_for": FAILED_FOR, "stale_for": STALE_FOR, **live})


async def record_of(bench: Bench, url: str, **fields: Any) -> UrlRecord:
    done = await bench.submit(url, **fields)
    assert done.record is not None
    assert bench.events[-1].record == done.record
    return done.record


async def passes(time: timedelta) -> None:
    await asyncio.sleep(time.total_seconds())


PASSING = [busy(429), busy(503), busy(503, "30"), failed(Reason.RESET), failed(Reason.TIMEOUT)]
LASTING = [busy(503, "121"), failed(Reason.UNRESOLVED), failed(Reason.TLS), page("", 500), page("", 404)]


@pytest.mark.parametrize("failure", PASSING)
def test_failure_that_passes_is_retried(failure: Script) -> None:
    @simulated
    async def check() -> None:
        bench = bench_of(ScriptedWeb({A: moved(B), B: in_turn(failure, failure, GOOD)}))

        record = await record_of(bench, A)

        assert (record.state, record.resolved) == (State.OK, B)
        assert bench.web.asked == [A, B, B, B]

    check()


@pytest.mark.parametrize("failure", PASSING)
def test_number_of_retries_is_bounded(failure: Script) -> None:
    @simulated
    async def check() -> None:
        bench = bench_of(ScriptedWeb({A: failure}), retries=3)

        record = await record_of(bench, A)

        assert record.state is State.FAILED
        assert bench.web.asked == [A] * 4

    check()


@pytest.mark.parametrize("failure", LASTING)
def test_lasting_failure_is_not_retried(failure: Script) -> None:
    @simulated
    async def check() -> None:
        bench = bench_of(ScriptedWeb({A: failure}))

        await record_of(bench, A)

        assert bench.web.asked == [A]

    check()


@simulated
async def test_retry_has_the_highest_priority_of_those_who_wait() -> None:
    web = ScriptedWeb({A: failed(Reason.TIMEOUT)}, takes=10)
    bench = bench_of(web, retries=1)
    (slow,) = await bench.open(A, priority=Priority.BULK)
    first = asyncio.ensure_future(bench.work(slow))
    await asyncio.sleep(1)

    await bench.submit(A, priority=Priority.PERSON)
    await first

    assert web.priorities == [Priority.BULK, Priority.PERSON]


@simulated
async def test_time_of_earlier_tries_counts_as_waiting() -> None:
    bench = bench_of(ScriptedWeb({A: in_turn(failed(Reason.TIMEOUT), GOOD)}, takes=10))

    done = await bench.submit(A)

    assert done.waited == pytest.approx(11)  # the first try, and a second's pause


@simulated
async def test_service_stopped_between_retries_continues_after_its_restart() -> None:
    bench = bench_of(ScriptedWeb({A: in_turn(busy(503), failed(Reason.RESET), GOOD)}, takes=10))
    await bench.accept(A)
    first = bench.scheduler()
    run = asyncio.create_task(first.run())
    await asyncio.sleep(15)
    first.stop()
    await run
    assert bench.events == []

    await until_idle(bench, bench.scheduler())

    assert [event.record.state for event in bench.events] == [State.OK]


SECONDS, MINUTES, HOURS = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
DELAYS = [30 * SECONDS, 2 * MINUTES, 10 * MINUTES, HOURS]


@pytest.mark.parametrize(
    ("failure", "delays", "waits"),
    [
        (busy(429, "7200"), DELAYS, 2 * HOURS),
        (busy(503, "1"), DELAYS, 30 * SECONDS),
        (busy(503), DELAYS, 30 * SECONDS),
        (failed(Reason.TIMEOUT), DELAYS, 30 * SECONDS),
        (failed(Reason.UNRESOLVED), DELAYS, FAILED_FOR),
        (busy(503, "1"), [], MINUTES),  # so that clients can read it
        (busy(503), [], FAILED_FOR),
    ],
)
def test_failed_url_is_asked_again_when_its_time_has_come(
    failure: Script, delays: list[timedelta], waits: timedelta
) -> None:
    @simulated
    async def check() -> None:
        bench = bench_of(ScriptedWeb({A: failure}), retry_delays=tuple(delays))

        record = await record_of(bench, A)
        asked = len(bench.web.asked)
        await passes(waits - SECONDS)
        await bench.submit(A)
        assert len(bench.web.asked) == asked
        await passes(SECONDS)
        assert (known := bench.known(A)) is None or known == record
        await bench.submit(A)

        assert (record.retry_at or record.expires_at) - record.fetched_at == waits
        assert len(bench.web.asked) > asked

    check()


async def run_for(bench: Bench, time: timedelta) -> None:
    """Run a scheduler and the retries for a while, then stop."""
    scheduler = bench.scheduler()
    work = asyncio.create_task(scheduler.run())
    retries = asyncio.create_task(RetryTimer(bench.stores.journal, scheduler.wake).run())
    await passes(time)
    scheduler.stop()
    retries.cancel()
    await asyncio.gather(work, retries, return_exceptions=True)


def seconds_of(bench: Bench) -> list[float]:
    """Return when outcomes were announced, in seconds since the first."""
    times = [event.at for event in bench.events]
    return [(at - times[0]).total_seconds() for at in times]


@simulated
async def test_failing_url_is_fetched_again_by_itself_with_growing_delays() -> None:
    bench = bench_of(ScriptedWeb({A: busy(503)}), retries=0)
    await bench.accept(A)

    await run_for(bench, timedelta(hours=2))

    assert seconds_of(bench) == pytest.approx([0, 30, 150, 750, 4350], abs=8)
    assert [event.record.failures for event in bench.events] == [1, 2, 3, 4, 5]
    assert [event.record.retry_at is not None for event in bench.events] == [True] * 4 + [False]
    assert bench.stores.journal.retries() == 0  # it is given up until the next message


@simulated
async def test_retry_obeys_retry_after() -> None:
    bench = bench_of(ScriptedWeb({A: in_turn(busy(503, "900"), GOOD)}))
    await bench.accept(A)

    await run_for(bench, timedelta(hours=2))

    assert seconds_of(bench) == pytest.approx([0, 900], abs=2)
    assert bench.events[-1].record.state is State.OK


@simulated
async def test_last_good_record_is_stale_until_a_retry_succeeds() -> None:
    bench = bench_of(ScriptedWeb({A: GOOD}), retries=0)
    good = await record_of(bench, A)
    await passes(KNOWN_FOR)
    bench.web.answers[A] = in_turn(busy(503), failed(Reason.TIMEOUT), page("<title>Better</title>"))
    await bench.accept(A)

    await run_for(bench, 10 * SECONDS)
    first = bench.known(A)
    await run_for(bench, MINUTES)
    second = bench.known(A)
    await run_for(bench, 3 * MINUTES)
    last = bench.known(A)

    assert first is not None
    assert first.stale is not None
    assert second is not None
    assert second.stale is not None
    assert (first.fetch, first.stale.reason, first.stale.failures) == (good.fetch, "busy", 1)
    assert (second.fetch, second.stale.reason, second.stale.failures) == (good.fetch, "timeout", 2)
    assert first.retry_at == first.stale.retry_at
    assert last is not None
    assert (last.stale, last.failures, last.retry_at) == (None, 0, None)
    assert last.metadata is not None
    assert last.metadata.title == "Better"


@simulated
async def test_retry_is_dropped_when_a_message_has_fetched_the_url_meanwhile() -> None:
    bench = bench_of(ScriptedWeb({A: in_turn(busy(503), GOOD)}), retries=0)
    await bench.submit(A)
    assert bench.stores.journal.retries() == 1

    await bench.submit(A, force=True)

    assert bench.stores.journal.retries() == 0


@simulated
async def test_redirect_chain_that_fails_is_retried_from_its_start_and_only_once() -> None:
    bench = bench_of(ScriptedWeb({A: moved(B), B: in_turn(busy(503), GOOD)}), retries=0)
    await bench.accept(A)

    await run_for(bench, 5 * MINUTES)

    assert bench.web.asked == [A, B, A, B]
    assert [event.record.state for event in bench.events] == [State.FAILED, State.OK]


@simulated
async def test_failed_refetch_keeps_the_last_good_record() -> None:
    bench = bench_of(ScriptedWeb({A: GOOD}), retries=0)
    good = await record_of(bench, A)
    await passes(KNOWN_FOR)
    assert bench.known(A) is None
    bench.web.answers[A] = busy(503, "300")

    record = await record_of(bench, A)

    assert (record.state, record.fetch, record.metadata) == (State.OK, good.fetch, good.metadata)
    assert (record.fetched_at, record.expires_at) == (good.fetched_at, good.expires_at + STALE_FOR)
    assert record.stale is not None
    assert (record.stale.reason, record.stale.detail, record.stale.status) == ("busy", "HTTP 503", 503)
    assert record.stale.failed_at == clock()
    assert record.stale.retry_at == clock() + timedelta(minutes=5)
    assert bench.known(A) == record


@simulated
async def test_stale_url_is_fetched_again_after_its_retry_time() -> None:
    bench = bench_of(ScriptedWeb({A: GOOD}), retries=0)
    await bench.submit(A)
    await passes(KNOWN_FOR)
    bench.web.answers[A] = failed(Reason.RESET)
    stale = await record_of(bench, A)
    bench.web.answers[A] = page("<title>Better</title>")
    await passes(29 * SECONDS)
    known = await bench.submit(A)
    assert (known.source, known.record) == (OutcomeSource.KNOWN, stale)
    await passes(SECONDS)

    record = await record_of(bench, A)

    assert record.stale is None
    assert record.metadata is not None
    assert record.metadata.title == "Better"
    assert record.expires_at == clock() + KNOWN_FOR


@simulated
async def test_record_is_stale_for_a_limited_time() -> None:
    bench = bench_of(ScriptedWeb({A: GOOD}), retries=0)
    good = await record_of(bench, A)
    bench.web.answers[A] = failed(Reason.TLS, "expired")
    last = good.expires_at + STALE_FOR
    seen = []
    while clock() < last + timedelta(hours=10):
        record = await record_of(bench, A)
        seen.append((clock() < good.expires_at, record.stale is not None, record.state))
        assert record.stale is None or record.expires_at == last
        await passes(timedelta(hours=3))

    assert set(seen) == {(True, False, State.OK), (False, True, State.OK), (False, False, State.FAILED)}
    assert [is_stale for _, is_stale, _ in seen].count(True) == 16  # every three hours for two days


@simulated
async def test_forced_refetch_that_fails_keeps_a_valid_record() -> None:
    bench = bench_of(ScriptedWeb({A: moved(B), B: GOOD}), retries=0)
    good = await record_of(bench, A)
    bench.web.answers[A] = failed(Reason.TIMEOUT)

    record = await record_of(bench, A, force=True)

    assert (record.fetch, record.resolved, record.stale is not None) == (good.fetch, B, True)
    known = bench.known(B)
    assert known is not None
    assert known.stale is None


@simulated
async def test_forced_message_that_joins_a_failing_refetch_asks_only_once() -> None:
    bench = bench_of(ScriptedWeb({A: GOOD}, takes=10), retries=0)
    await bench.submit(A)
    bench.web.answers[A] = failed(Reason.TIMEOUT)

    first, second = await asyncio.gather(*(bench.submit(A, force=True) for _ in range(2)))

    assert bench.web.asked == [A, A]
    assert first.record is not None
    assert first.record.stale is not None
    assert first.record == second.record


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (gone(Reason.NOT_FOUND), State.GONE),
        (gone(Reason.ROBOTS_DENIED), State.DENIED),
        (failed(Reason.REFUSED_ADDRESS), State.REFUSED),
    ],
)
def test_page_that_is_gone_denied_or_refused_is_not_kept(answer: Script, state: State) -> None:
    @simulated
    async def check() -> None:
        bench = bench_of(ScriptedWeb({A: GOOD}))
        await bench.submit(A)
        bench.web.answers[A] = answer

        record = await record_of(bench, A, force=True)

        assert (record.state, record.stale, record.metadata) == (state, None, None)

    check()


@simulated
async def test_each_url_of_a_failing_chain_keeps_its_own_record() -> None:
    bench = bench_of(ScriptedWeb({A: moved(B), B: GOOD}), retries=0)
    await bench.submit(B)
    await passes(KNOWN_FOR)
    bench.web.answers[B] = failed(Reason.TIMEOUT)

    record = await record_of(bench, A)

    assert (record.state, record.reason) == (State.FAILED, "timeout")
    known = bench.known(B)
    assert known is not None
    assert (known.state, known.stale is not None) == (State.OK, True)
