from __future__ import annotations

from datetime import timedelta

import pytest
from tests.live.fakes import Bench, ScriptedWeb, failed, moved, page, refresh, simulated

from scoter.core.reply import Reason
from scoter.live.context import OutcomeSource
from scoter.live.records import State

A, B, C, D = (f"http://{name}.example/" for name in "abcd")


def named(canonical: str) -> str:
    return f'<title>Page</title><link rel="canonical" href="{canonical}">'


@simulated
async def test_record_is_stored_under_every_url_of_its_chain() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: refresh(C), C: page()}))

    done = await bench.submit(A)

    records = [bench.known(url) for url in (A, B, C)]
    assert [record and record.url for record in records] == [A, B, C]
    assert [record and [hop.url for hop in record.hops] for record in records] == [[A, B, C], [B, C], [C]]
    assert {record.fetch for record in records if record} == {done.fetch}
    assert {record.resolved for record in records if record} == {C}


@simulated
async def test_later_message_for_a_hop_is_answered_from_the_store() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: page()}))
    first = await bench.submit(A)

    second = await bench.submit(B)

    assert bench.web.asked == [A, B]
    assert second.record is not None
    assert (second.record.url, second.record.fetch, second.source) == (B, first.fetch, OutcomeSource.KNOWN)
    assert [event.url for event in bench.events] == [A, B]


@simulated
async def test_failure_is_stored_for_every_url_of_its_chain() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: failed(Reason.TIMEOUT)}))

    await bench.submit(A)

    assert [(known := bench.known(url)) and known.state for url in (A, B)] == [State.FAILED, State.FAILED]


@simulated
async def test_loop_is_recorded_for_each_of_its_urls() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: moved(A)}))

    await bench.submit(A)
    await bench.submit(B)

    assert bench.web.asked == [A, B]


@simulated
async def test_too_long_chain_is_stored_for_its_first_url_only() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: moved(C), C: page()}), hops=1)
    await bench.submit(A)
    assert bench.known(B) is None

    done = await bench.submit(B)

    assert done.record is not None
    assert (done.record.state, done.record.resolved) == (State.OK, C)
    assert (known := bench.known(A)) is not None
    assert known.state is State.FAILED


@simulated
async def test_page_of_a_truncated_chain_is_not_stored_for_its_hops() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: refresh(C), C: page()}), hops=1)

    await bench.submit(A)

    assert bench.known(B) is None


@simulated
async def test_page_is_stored_under_its_canonical_url_within_its_domain() -> None:
    bench = Bench(ScriptedWeb({"http://www.a.example/x?s=1": page(named("https://a.example/x"))}))

    await bench.submit("http://www.a.example/x?s=1")

    alias = bench.stores.metadata.fresh("https://a.example/x")
    assert alias is not None
    assert not alias.is_direct
    later = await bench.submit("https://a.example/x")
    assert later.record is not None
    assert (later.record.url, later.source) == ("https://a.example/x", OutcomeSource.KNOWN)
    assert later.record.resolved == "http://www.a.example/x?s=1"
    assert len(bench.web.asked) == 1


@pytest.mark.parametrize(
    "foreign", ["http://bank.test/", "http://a.example.evil.test/", "http://other.github.io/", "http://192.0.2.1/"]
)
def test_canonical_url_of_another_domain_is_ignored(foreign: str) -> None:
    @simulated
    async def check() -> None:
        bench = Bench(ScriptedWeb({"http://mine.github.io/": page(named(foreign)), foreign: page()}))

        await bench.submit("http://mine.github.io/")

        assert bench.known(foreign) is None
        await bench.submit(foreign)
        assert bench.web.asked == ["http://mine.github.io/", foreign]

    check()


@simulated
async def test_canonical_url_is_compared_with_the_domain_of_the_page() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: page(named("http://a.example/home"))}))

    await bench.submit(A)

    assert bench.known("http://a.example/home") is None


@simulated
async def test_alias_never_replaces_a_direct_record() -> None:
    web = ScriptedWeb({A: page("<title>Mine</title>"), "http://a.example/x": page(named(A))})
    bench = Bench(web)
    direct = await bench.submit(A)

    await bench.submit("http://a.example/x")

    assert bench.known(A) == direct.record


@simulated
async def test_direct_record_replaces_an_alias() -> None:
    bench = Bench(ScriptedWeb({A: page("<title>Mine</title>"), "http://a.example/x": page(named(A))}))
    await bench.submit("http://a.example/x")

    await bench.submit(A, force=True)

    stored = bench.stores.metadata.fresh(A)
    assert stored is not None
    assert stored.is_direct
    assert (known := bench.known(A)) is not None
    assert known.resolved == A


@simulated
async def test_redirect_to_an_alias_is_followed() -> None:
    bench = Bench(ScriptedWeb({A: page(), "http://a.example/x": page(named(A)), B: moved(A)}))
    await bench.submit("http://a.example/x")

    done = await bench.submit(B)

    assert bench.web.asked == ["http://a.example/x", B, A]
    assert done.record is not None
    assert done.record.resolved == A


@simulated
async def test_error_page_has_no_alias() -> None:
    bench = Bench(ScriptedWeb({A: page(named("http://a.example/x"), 404)}))

    await bench.submit(A)

    assert bench.known("http://a.example/x") is None


@simulated
async def test_successes_are_kept_longer_than_failures() -> None:
    known_for, failed_for = timedelta(hours=2), timedelta(minutes=5)
    bench = Bench(ScriptedWeb({A: page(), B: failed(Reason.RESET)}), known_for=known_for, failed_for=failed_for)

    good, bad = await bench.submit(A), await bench.submit(B)

    assert good.record is not None
    assert bad.record is not None
    assert good.record.expires_at - good.record.fetched_at == known_for
    assert bad.record.expires_at - bad.record.fetched_at == failed_for
