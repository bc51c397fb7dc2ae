"""Every answer of a hostile server ends as the right reply, in time, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import time

import pytest
import uvloop
from msgspec import Struct
from tests.fetch.hostile import (
    KEEP,
    HostileServer,
    Series,
    config_for,
    fetch_all,
    ok,
    open_files,
    serving,
    settled_files,
)
from tests.fetch.hostile_cases import CASES, LIMIT, STATUS

from scoter.core.reply import Failed, Fetched, Reply, Truncation, fetch_status
from scoter.fetch.filters import kind_of

TIME_LIMIT = 6.0
SILENCE = 2.5  # more than a busy machine makes of the 0.2 seconds between the bytes of a slow body
LONGEST = 15.0  # a case that is tried again may take its time limit twice, and the machine may be busy


class Ran(Struct):
    """What came of fetching every case at once."""

    replies: dict[str, Reply]
    server: HostileServer
    seconds: float
    files_before: int
    files_after: int
    tasks_after: int


async def _run_all() -> Ran:
    async with serving({f"/{name}": case.script for name, case in CASES.items()}) as server:
        config = config_for(
            server.port, f"http.time_limit={TIME_LIMIT}s", f"http.timeout={SILENCE}s", "fetch.threads=200"
        )
        urls = {f"http://{name}.test/{name}": name for name in CASES}
        files, tasks, began = open_files(), len(asyncio.all_tasks()), time.monotonic()
        replies = await fetch_all(config, urls)
        seconds = time.monotonic() - began
        after = await settled_files(files)
        left = [task for task in asyncio.all_tasks() if "HostileServer" not in repr(task)]
        return Ran(
            {urls[url]: reply for url, reply in replies.items()}, server, seconds, files, after, len(left) - tasks
        )


@pytest.fixture(scope="module")
def ran() -> Ran:
    return uvloop.run(_run_all())


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_answer_ends_as_its_reply(ran: Ran, name: str) -> None:
    case = CASES[name]

    reply = ran.replies[name]

    assert kind_of(reply) == case.word, reply
    assert fetch_status(reply) is STATUS[case.word]
    if isinstance(reply, Fetched):
        body = reply.exchange.body
        assert body.startswith(case.body) if case.truncation is Truncation.TIME else body == case.body
        assert reply.exchange.truncation is case.truncation
    if reply.exchange is not None:
        assert reply.exchange.response_head.endswith((b"\r\n\r\n", b"\n\n"))
        assert reply.exchange.response_head.count(b"HTTP/") == 1, "a provisional head or a trailer got in"


def test_all_of_them_end_in_time_and_leave_nothing_behind(ran: Ran) -> None:
    assert ran.seconds < LONGEST
    assert ran.files_after <= ran.files_before
    assert ran.tasks_after <= 0


def test_only_connections_broken_before_an_answer_are_retried(ran: Ran) -> None:
    asked = [path.removeprefix("/") for _, path in ran.server.asked if path != "/robots.txt"]
    times = {name: asked.count(name) for name in CASES}

    assert set(times.values()) == {1, 2}
    assert {name for name, count in times.items() if count == 2} <= {
        name for name, reply in ran.replies.items() if isinstance(reply, Failed) and reply.reason == "reset"
    }
    assert times["close-at-once"] == times["reset-at-once"] == 2
    assert times["close-in-body"] == times["reset-in-body"] == times["chunk-word"] == 1


def test_folded_header_is_one_field_and_trailers_are_ignored(ran: Ran) -> None:
    folded, trailed = ran.replies["folded"], ran.replies["trailers"]

    assert isinstance(folded, Fetched)
    assert folded.exchange.header("X-Long") == "one two three"
    assert isinstance(trailed, Fetched)
    assert trailed.exchange.header("X-After") == ""
    assert b"X-After" not in trailed.exchange.response_head


CLIENT_ERRORS = ("challenge", "payment", "legal", "proxy-challenge")


async def test_a_robots_txt_of_any_such_kind_neither_hangs_nor_crashes() -> None:
    # given sites that answer for robots.txt what the cases answer for a page
    robots = lambda host: CASES[host.removesuffix(".test")].script  # noqa: E731
    async with asyncio.timeout(LONGEST), serving({"/page": (ok(), KEEP)}, robots=robots) as server:
        config = config_for(server.port, "http.time_limit=3s", "fetch.threads=200")

        # when a page of each is asked for
        replies = await fetch_all(config, [f"http://{name}.test/page" for name in CASES])

    # then one whose robots.txt came, or is known to be missing, is fetched, and the others are left alone
    for name, case in CASES.items():
        came = case.word in ("fetched", "not_modified") or name in CLIENT_ERRORS
        # The rule that denies may stand in the part that did not come.
        came = came and case.truncation is not Truncation.TIME and name != "gzip-short"
        reply = replies[f"http://{name}.test/page"]
        assert kind_of(reply) == ("fetched" if came else "robots_unreachable"), name


async def test_silently_closed_connection_costs_no_page() -> None:
    # given a server that says keep-alive, reads the second request and closes instead of answering
    dying = Series(((ok(b"first"), KEEP), (), (ok(b"third"), KEEP)))
    async with serving({"/page": dying}) as server:
        config = config_for(server.port)

        # when a page is asked for on the connection that robots.txt came over, twice
        first = await fetch_all(config, ["http://a.test/page"])
        second = await fetch_all(config, ["http://a.test/page"])

    # then the second is asked again, in a turn of its own
    assert isinstance(first["http://a.test/page"], Fetched)
    reply = second["http://a.test/page"]
    assert isinstance(reply, Fetched)
    assert reply.exchange.body == b"third"
    assert [path for _, path in server.asked].count("/page") == 3


async def test_bodies_in_flight_stay_within_the_limit_of_each() -> None:
    endless = (b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 65_536] * 64)
    async with serving({"/endless": endless}) as server:
        replies = await fetch_all(config_for(server.port), [f"http://h{n}.test/endless" for n in range(20)])

    for reply in replies.values():
        assert isinstance(reply, Fetched)
        assert len(reply.exchange.body) == LIMIT
        assert reply.exchange.truncation is Truncation.LENGTH
