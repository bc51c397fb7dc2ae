from __future__ import annotations

import asyncio

import pytest
from tests.live.fakes import (
    Bench,
    Script,
    ScriptedWeb,
    exchange,
    failed,
    gone,
    moved,
    page,
    picture,
    refresh,
    simulated,
)

from scoter.core.reply import NotModified, Reason
from scoter.live.api.records import DomainRule
from scoter.live.pipeline.context import OutcomeSource
from scoter.live.records import ContentKind, Hop, Priority, State, UrlRecord

A, B, C, D = (f"http://{name}.example/" for name in "abcd")


async def record_of(bench: Bench, url: str = A) -> UrlRecord:
    done = await bench.submit(url)
    assert done.record is not None
    assert done.is_recorded
    return done.record


@simulated
async def test_page_is_parsed_stored_and_announced() -> None:
    bench = Bench(ScriptedWeb({A: page("<title>Hello</title>")}))

    record = await record_of(bench)

    assert (record.state, record.status, record.kind, record.resolved) == (State.OK, 200, ContentKind.PAGE, A)
    assert record.metadata is not None
    assert record.metadata.title == "Hello"
    assert bench.known(A) == record
    assert [(event.url, event.record) for event in bench.events] == [(A, record)]


@simulated
async def test_each_redirect_is_a_request_and_a_hop_of_the_record() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: moved(C, 302), C: page()}))

    record = await record_of(bench)

    assert bench.web.asked == [A, B, C]
    assert record.hops == (Hop(A, 301, True), Hop(B, 302, False), Hop(C, 200))
    assert (record.url, record.resolved, record.state) == (A, C, State.OK)


@simulated
async def test_hops_have_the_priority_of_the_message() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: page()}))

    await bench.submit(A, priority=Priority.PERSON)

    assert bench.web.priorities == [Priority.PERSON, Priority.PERSON]


@simulated
async def test_redirect_loop_ends_at_the_first_repeated_url() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: moved(C), C: moved(B)}))

    record = await record_of(bench)

    assert bench.web.asked == [A, B, C]
    assert (record.state, record.reason, record.detail) == (State.FAILED, "redirects", f"on to {B}")
    assert [hop.url for hop in record.hops] == [A, B, C]


@simulated
async def test_self_redirect_is_requested_once() -> None:
    bench = Bench(ScriptedWeb({A: moved(A)}))

    record = await record_of(bench)

    assert bench.web.asked == [A]
    assert record.reason == "redirects"


@pytest.mark.parametrize(("most", "state"), [(0, State.FAILED), (2, State.FAILED), (3, State.OK)])
def test_number_of_redirects_is_limited(most: int, state: State) -> None:
    @simulated
    async def check() -> None:
        bench = Bench(ScriptedWeb({A: moved(B), B: moved(C), C: moved(D), D: page()}), hops=most)

        record = await record_of(bench)

        assert len(bench.web.asked) == most + 1
        assert record.state is state

    check()


@simulated
async def test_redirect_without_target_fails() -> None:
    bench = Bench(ScriptedWeb({A: moved("javascript:alert(1)")}))

    record = await record_of(bench)

    assert (record.state, record.reason, record.detail) == (State.FAILED, "redirects", "it does not say where")


@simulated
async def test_page_with_immediate_refresh_is_a_hop() -> None:
    bench = Bench(ScriptedWeb({A: refresh(B), B: page("<title>There</title>")}))

    record = await record_of(bench)

    assert [hop.url for hop in record.hops] == [A, B]
    assert record.metadata is not None
    assert record.metadata.title == "There"


@simulated
async def test_page_with_delayed_or_self_refresh_is_final() -> None:
    bench = Bench(ScriptedWeb({A: refresh(B, 30), B: refresh(B, 1)}))

    first, second = await record_of(bench, A), await record_of(bench, B)

    assert (first.resolved, second.resolved) == (A, B)
    assert first.state is second.state is State.OK


@simulated
async def test_refresh_to_a_failure_records_no_content() -> None:
    bench = Bench(ScriptedWeb({A: refresh(B), B: page("", 404)}))

    record = await record_of(bench)

    assert (record.state, record.resolved, record.metadata, record.kind) == (State.GONE, B, None, ContentKind.OTHER)
    assert record.content_type == ""


@simulated
async def test_chain_truncated_at_a_page_records_that_page() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: refresh(C), C: page()}), hops=1)

    record = await record_of(bench)

    assert (record.state, record.resolved) == (State.OK, B)


OUTCOMES: list[tuple[str, Script, State, str, int | None]] = [
    ("not found", page("", 404), State.GONE, "not_found", 404),
    ("removed", page("", 410), State.GONE, "removed", 410),
    ("robots", gone(Reason.ROBOTS_DENIED), State.DENIED, "robots_denied", None),
    ("crawl delay", gone(Reason.CRAWL_DELAY), State.DENIED, "crawl_delay", None),
    ("forbidden", page("", 403), State.FAILED, "forbidden", 403),
    ("server error", page("", 500), State.FAILED, "server_error", 500),
    ("busy", page("", 503), State.FAILED, "busy", 503),
    ("timeout", failed(Reason.TIMEOUT), State.FAILED, "timeout", None),
    ("unresolved", failed(Reason.UNRESOLVED), State.FAILED, "unresolved", None),
    ("robots unreachable", failed(Reason.ROBOTS_UNREACHABLE), State.FAILED, "robots_unreachable", None),
    ("purged", failed(Reason.PURGED), State.FAILED, "purged", None),
    ("address", failed(Reason.REFUSED_ADDRESS), State.REFUSED, "refused_address", None),
    ("port", failed(Reason.REFUSED_PORT), State.REFUSED, "refused_port", None),
    ("scheme", failed(Reason.REFUSED_SCHEME), State.REFUSED, "refused_scheme", None),
    ("challenge", failed(Reason.CHALLENGE), State.CHALLENGED, "challenge", None),
    ("wall", failed(Reason.WALL), State.CHALLENGED, "wall", None),
    ("not modified", lambda url: NotModified(exchange(url, 304)), State.FAILED, "other_status", 304),
]


@pytest.mark.parametrize(
    ("script", "state", "reason", "status"), [row[1:] for row in OUTCOMES], ids=[row[0] for row in OUTCOMES]
)
@pytest.mark.parametrize("behind_a_redirect", [False, True])
def test_record_reflects_the_reply(
    script: Script, state: State, reason: str, status: int | None, behind_a_redirect: bool
) -> None:
    @simulated
    async def check() -> None:
        bench = Bench(ScriptedWeb({A: moved(B), B: script} if behind_a_redirect else {A: script}))

        record = await record_of(bench)

        assert (record.state, record.reason, record.status) == (state, reason, status)
        assert record.expires_at - (record.retry_at or record.fetched_at) == bench.config.live.failed_for
        assert record.metadata is None

    check()


@simulated
async def test_unparsable_content_is_recorded_as_ok() -> None:
    bench = Bench(ScriptedWeb({A: page("...", content_type="video/mp4")}))

    record = await record_of(bench)

    assert (record.state, record.kind, record.content_type) == (State.OK, ContentKind.VIDEO, "video/mp4")
    assert (record.reason, record.detail) == ("unread", "no_parser: video/mp4")


@simulated
async def test_image_url_is_recorded_as_image() -> None:
    bench = Bench(ScriptedWeb({A: picture()}))

    record = await record_of(bench)

    assert (record.kind, record.content_type) == (ContentKind.IMAGE, "image/png")


@simulated
async def test_redirect_to_a_blocked_domain_is_not_followed() -> None:
    bench = Bench(ScriptedWeb({A: moved("http://www.b.example/x"), "http://www.b.example/x": page()}))
    await bench.stores.rules.put(DomainRule(domain="b.example", blocked=True))

    record = await record_of(bench)

    assert bench.web.asked == [A]
    assert (record.state, record.detail) == (State.REFUSED, "b.example is blocked")


@simulated
async def test_redirect_to_another_scheme_is_never_followed() -> None:
    bench = Bench(ScriptedWeb({A: moved("ftp://b.example/x")}))

    record = await record_of(bench)

    assert bench.web.asked == [A]
    assert (record.state, record.reason) == (State.REFUSED, "refused_scheme")


@simulated
async def test_chain_that_reaches_a_known_url_ends_with_its_record() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: moved(C), C: page()}))
    known = await record_of(bench, B)

    done = await bench.submit(A)

    assert bench.web.asked == [B, C, A]
    assert done.record is not None
    assert [hop.url for hop in done.record.hops] == [A, B, C]
    assert (done.record.fetch, done.record.expires_at) == (known.fetch, known.expires_at)
    assert done.record.metadata == known.metadata
    assert bench.known(A) == done.record
    assert bench.known(B) == known
    assert done.source is OutcomeSource.FETCHED


@simulated
async def test_stored_hops_count_towards_the_redirect_limit() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: moved(C), C: moved(D), D: page()}), hops=2)
    assert (await record_of(bench, B)).state is State.OK

    record = await record_of(bench, A)

    assert (record.state, record.reason) == (State.FAILED, "redirects")


@simulated
async def test_stored_chain_through_this_url_is_fetched_again() -> None:
    bench = Bench(ScriptedWeb({B: moved(A), A: page()}))
    await bench.submit(B)
    bench.web.answers[A] = failed(Reason.TIMEOUT)
    await bench.submit(A, force=True)
    await asyncio.sleep(3600)
    bench.web.answers |= {A: moved(B), B: page()}

    record = await record_of(bench, A)

    assert [hop.url for hop in record.hops] == [A, B]
    assert record.state is State.OK


@simulated
async def test_forced_chain_requests_every_hop_again() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: page()}))
    await bench.submit(A)

    await bench.submit(A, force=True)

    assert bench.web.asked == [A, B, A, B]
