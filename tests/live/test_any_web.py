"""On random webs with random timing, everything accepted is recorded once, and nothing is fetched twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from tests.effort import examples
from tests.live.fakes import (
    Bench,
    Script,
    ScriptedWeb,
    failed,
    gone,
    moved,
    page,
    picture,
    refresh,
    simulated,
    until_idle,
)

from scoter.core.reply import Reason
from scoter.live.records import State

URLS = [f"http://{site}.example/{name}" for site in "abc" for name in "123"]
MANY = 20  # redirects: more than there are URLs, so that no chain is too long


class World(Struct, frozen=True):
    """A web, and the messages with their times."""

    web: dict[str, Script]
    messages: Sequence[tuple[float, Sequence[str], bool]]
    seed: int


def _page(target: str) -> Script:
    return page(
        f'<title>Page</title><link rel="canonical" href="{target}"><meta property="og:image" content="{target}">'
    )


_url = st.sampled_from(URLS)
_script = st.one_of(
    _url.map(moved),
    _url.map(moved),
    _url.map(refresh),
    _url.map(_page),
    st.sampled_from([page(), picture(), page("", 404), failed(Reason.TIMEOUT), gone(Reason.ROBOTS_DENIED)]),
)
_moment = st.integers(0, 40).map(lambda tenths: tenths / 10)


def worlds(*, force: st.SearchStrategy[bool]) -> st.SearchStrategy[World]:
    message = st.tuples(_moment, st.lists(_url, min_size=1, max_size=3, unique=True), force)
    web = st.fixed_dictionaries(dict.fromkeys(URLS, _script))
    return st.builds(World, web=web, messages=st.lists(message, min_size=1, max_size=12), seed=st.integers(0, 2**32))


def bench_of(world: World) -> Bench:
    chance = Random(world.seed)
    web = ScriptedWeb(world.web)
    web.takes = lambda url: chance.choice((0.0, 0.0, 0.1, 0.5, 1.0))
    bench = Bench(web, hops=MANY, retries=0)  # so that each URL is requested once
    bench.content.takes = chance.choice((0.0, 0.1, 0.7))
    return bench


async def send(bench: Bench, world: World) -> list[tuple[str, str]]:
    """Accept the messages, each at its time; return what was accepted."""
    accepted = []
    for moment, urls, force in sorted(world.messages, key=lambda message: message[0]):
        await asyncio.sleep(max(0.0, moment - asyncio.get_running_loop().time()))
        name = await bench.accept(*urls, force=force)
        accepted += [(name, url) for url in urls]
    return accepted


def recorded(bench: Bench) -> list[tuple[str, str]]:
    return sorted((event.message, event.url) for event in bench.events)


@given(worlds(force=st.just(False)))
@settings(max_examples=examples(60), deadline=None)
def test_every_url_is_recorded_once_and_requested_at_most_once(world: World) -> None:
    @simulated
    async def check() -> None:
        bench = bench_of(world)
        sending = asyncio.create_task(send(bench, world))
        scheduler = bench.scheduler(most=1 + world.seed % 5, most_of_domain=1 + world.seed % 3)
        run = asyncio.create_task(scheduler.run())
        accepted = await sending
        await until_idle(bench)
        scheduler.stop()
        await run

        assert recorded(bench) == sorted(accepted)
        whole = Counter(bench.web.asked) - Counter(bench.web.measured)
        assert not [url for url, times in whole.items() if times > 1]
        for event in bench.events:
            assert event.record.url == event.url
            assert len({hop.url for hop in event.record.hops}) == len(event.record.hops)
            assert bench.known(event.url) is not None

    check()


@given(worlds(force=st.booleans()))
@settings(max_examples=examples(40), deadline=None)
def test_outcomes_of_one_fetch_are_equal(world: World) -> None:
    @simulated
    async def check() -> None:
        bench = bench_of(world)
        sending = asyncio.create_task(send(bench, world))
        scheduler = bench.scheduler(most=8)
        run = asyncio.create_task(scheduler.run())
        accepted = await sending
        await until_idle(bench)
        scheduler.stop()
        await run

        assert recorded(bench) == sorted(accepted)
        results: dict[str, set[tuple[State, str, str]]] = {}
        for event in bench.events:
            record = event.record
            results.setdefault(record.fetch, set()).add((record.state, record.resolved, record.reason))
        assert all(len(found) == 1 for found in results.values())

    check()


@given(worlds(force=st.booleans()), st.lists(_moment, min_size=1, max_size=4))
@settings(max_examples=examples(40), deadline=None)
def test_stopping_schedulers_and_lost_leases_lose_and_repeat_nothing(world: World, stops: list[float]) -> None:
    @simulated
    async def check() -> None:
        bench = bench_of(world)
        sending = asyncio.create_task(send(bench, world))
        lease = timedelta(seconds=0.6)
        for number, moment in enumerate(sorted(stops)):
            scheduler = bench.scheduler(f"reader {number}", most=4, lease=lease)
            run = asyncio.create_task(scheduler.run())
            await asyncio.sleep(moment)
            for row in list(bench.stores.journal._lent.values())[::2]:
                row.until = 0.0  # somebody else may have it
            if number % 2:
                run.cancel()
            else:
                scheduler.stop()
            await asyncio.gather(run, return_exceptions=True)
        accepted = await sending
        await until_idle(
            bench, bench.scheduler("one", most=4, lease=lease), bench.scheduler("two", most=4, lease=lease)
        )

        assert recorded(bench) == sorted(accepted)
        assert bench.stores.journal.waiting() == 0

    check()
