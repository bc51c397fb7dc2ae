from __future__ import annotations

from datetime import timedelta

from tests.live.fakes import Bench, ScriptedWeb, failed, moved, page, refresh, simulated

from scoter.core.reply import Reason
from scoter.live.pipeline.context import OutcomeSource
from scoter.live.records import State

A, B, C, D = (f"http://{name}.example/" for name in "abcd")


def named(canonical: str, title: str = "Page") -> str:
    return f'<title>{title}</title><link rel="canonical" href="{canonical}">'


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
async def test_page_does_not_provide_the_record_of_its_canonical_url() -> None:
    evil, login = "http://blog.a.example/evil", "http://www.a.example/login"
    bench = Bench(ScriptedWeb({evil: page(named(login, "Your password?")), login: page("<title>Log in</title>")}))

    spread = await bench.submit(evil)

    assert bench.known(login) is None
    assert spread.record is not None
    assert spread.record.metadata is not None
    assert spread.record.metadata.canonical == login  # a field, for whoever wants it
    asked = await bench.submit(login)
    assert bench.web.asked == [evil, login]
    assert asked.record is not None
    assert asked.record.metadata is not None
    assert asked.record.metadata.title == "Log in"


@simulated
async def test_page_does_not_change_the_record_of_its_canonical_url() -> None:
    bench = Bench(ScriptedWeb({A: page("<title>Mine</title>"), "http://a.example/x": page(named(A))}))
    direct = await bench.submit(A)

    await bench.submit("http://a.example/x")

    assert bench.known(A) == direct.record


@simulated
async def test_successes_are_kept_longer_than_failures() -> None:
    known_for, failed_for = timedelta(hours=2), timedelta(minutes=5)
    bench = Bench(ScriptedWeb({A: page(), B: failed(Reason.TLS)}), known_for=known_for, failed_for=failed_for)

    good, bad = await bench.submit(A), await bench.submit(B)

    assert good.record is not None
    assert bad.record is not None
    assert good.record.expires_at - good.record.fetched_at == known_for
    assert bad.record.expires_at - bad.record.fetched_at == failed_for
