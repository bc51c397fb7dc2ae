"""Submitting many messages: in batches, as fast as the service accepts them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.service import DROP, Asked, Clients, FakeService, Said, accepted, problem, receipts, said

from scoter.client import ClientError, Outcome, Submission, Unreachable
from scoter.client.calls import ApiAnswer
from scoter.client.submissions import SubmissionBatcher, grouped, lines


def ids(asked: Asked) -> list[str]:
    found = asked.json if isinstance(asked.json, list) else [asked.json]
    return [each["id"] for each in found]


def messages(number: int) -> list[Submission]:
    return [Submission(id=str(each), text="a.example") for each in range(number)]


def refusing(*refused: str, retry_after: float = 2.0) -> Callable[[Asked], Said]:
    """Accept all messages except some."""

    def answer(asked: Asked) -> Said:
        told = [
            {"id": each, "status": "refused", "entries": {}, "retry_after": retry_after, "domain": "b.example"}
            if each in refused
            else accepted(each)
            for each in ids(asked)
        ]
        return said(202, {"messages": told})

    return answer


def test_messages_are_sent_in_batches_with_one_receipt_each(clients: Clients) -> None:
    with FakeService(*[receipts] * 3) as service:
        found = list(clients(service).submit_many(iter(messages(25)), batch=10))

    assert [len(ids(asked)) for asked in service.asked] == [10, 10, 5]
    assert [receipt.id for receipt in found] == [str(number) for number in range(25)]


def test_plain_texts_can_be_submitted(clients: Clients) -> None:
    with FakeService(receipts) as service:
        found = list(clients(service).submit_many(["a.example", "b.example"]))

    assert [each["text"] for each in service.asked[0].json] == ["a.example", "b.example"]
    assert len({receipt.id for receipt in found}) == 2


def test_batch_stays_below_the_body_size_limit(clients: Clients) -> None:
    long = [Submission(text="ä" * 90_000) for _ in range(20)]
    with FakeService(*[receipts] * 20) as service:
        assert len(list(clients(service).submit_many(long))) == 20

    assert max(len(asked.body) for asked in service.asked) < 2**20


def test_full_service_is_retried_after_retry_after(clients: Clients) -> None:
    with FakeService(problem(429, retry_after=3.0), problem(429, retry_after=4.0), receipts) as service:
        found = list(clients(service).submit_many(messages(2)))

    assert clients.pauses == [3.0, 4.0]
    assert [receipt.status for receipt in found] == [Outcome.ACCEPTED] * 2
    assert [ids(asked) for asked in service.asked] == [["0", "1"]] * 3


def test_service_that_stays_full_is_given_up_after_patience(clients: Clients) -> None:
    with FakeService(*[problem(429, retry_after=4.0)] * 9) as service, pytest.raises(ClientError) as raised:
        list(clients(service).submit_many(messages(2), patience=10.0))

    assert raised.value.problem.status == 429
    assert clients.pauses == [4.0, 4.0]


def test_submission_resumes_after_a_service_restart(clients: Clients) -> None:
    with FakeService(receipts, DROP, DROP, problem(503, retry_after=1.0), receipts) as service:
        found = list(clients(service).submit_many(messages(20), batch=10))

    assert sorted(int(receipt.id) for receipt in found) == list(range(20))
    assert clients.pauses == [0.5, 1.0]


def test_service_that_never_answered_is_not_retried(clients: Clients) -> None:
    with FakeService() as service, pytest.raises(Unreachable):
        list(clients(service).submit_many(messages(1)))

    assert clients.pauses == []


def test_invalid_batch_is_not_retried(clients: Clients) -> None:
    with FakeService(problem(422, "invalid"), receipts) as service, pytest.raises(ClientError):
        list(clients(service).submit_many(messages(1)))

    assert len(service.asked) == 1


def test_conflict_of_a_single_message_does_not_end_the_submission(clients: Clients) -> None:
    with FakeService(problem(409, "id-conflict"), receipts) as service:
        found = list(clients(service).submit_many(messages(2), batch=1))

    assert [receipt.status for receipt in found] == [Outcome.CONFLICT, Outcome.ACCEPTED]


def test_only_refused_messages_are_retried(clients: Clients) -> None:
    with FakeService(refusing("1", "3"), receipts) as service:
        found = list(clients(service).submit_many(messages(5)))

    assert ids(service.asked[1]) == ["1", "3"]
    assert [receipt.id for receipt in found] == ["0", "2", "4", "1", "3"]
    assert clients.pauses == [pytest.approx(2.0, abs=0.2)]


def test_repeated_messages_get_one_receipt_each(clients: Clients) -> None:
    several = [Submission(id="0", text="a.example")] * 4
    with FakeService(refusing("0"), refusing("0"), receipts, receipts) as service:
        found = list(clients(service).submit_many(several, batch=2))

    assert [receipt.id for receipt in found] == ["0"] * 4


def test_full_domain_does_not_delay_other_messages(clients: Clients) -> None:
    crowded = problem(429, retry_after=5.0, domain="b.example")
    with FakeService(crowded, receipts, receipts) as service:
        found = list(clients(service).submit_many(messages(4), batch=2))

    assert [ids(asked) for asked in service.asked] == [["0", "1"], ["2", "3"], ["0", "1"]]
    assert [receipt.id for receipt in found] == ["2", "3", "0", "1"]


def test_message_refused_beyond_patience_is_returned_as_refused(clients: Clients) -> None:
    with FakeService(*[refusing("0", retry_after=4.0)] * 9) as service:
        found = list(clients(service).submit_many(messages(1), patience=10.0))

    assert [(receipt.status, receipt.domain) for receipt in found] == [(Outcome.REFUSED, "b.example")]
    assert len(service.asked) == 3


class Clock:
    """A clock that moves with each pause."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@given(
    st.lists(st.sampled_from(["take", "refuse", "crowd", "full", "lose"]), max_size=60),
    st.integers(1, 7),
    st.integers(0, 40),
)
def test_every_message_ends_exactly_once(does: list[str], batch: int, number: int) -> None:
    clock, script, found, most = Clock(), iter(does), [], 0
    loading = SubmissionBatcher(batch=batch, patience=1e9, max_delayed=10, clock=clock)

    def run() -> None:
        nonlocal most
        steps = loading.send()
        try:
            call = next(steps)
            while True:
                clock.now += call.after
                asked = Asked(call.method, call.target, {}, call.body or b"")
                most = max(most, len(ids(asked)))
                match next(script, "take"):
                    case "lose":
                        call = steps.throw(Unreachable("http://a/", "gone"))
                    case "full":
                        call = steps.send(_answer(problem(429, retry_after=2.0)))
                    case "crowd":
                        call = steps.send(_answer(problem(429, retry_after=2.0, domain="b.example")))
                    case "refuse":
                        call = steps.send(_answer(refusing(*ids(asked)[::2])(asked)))
                    case _:
                        call = steps.send(_answer(receipts(asked)))
        except StopIteration as done:
            found.extend(done.value)

    try:
        for message in messages(number):
            loading.add(message)
            assert len(loading) <= 10 + 2 * batch
            while loading.is_full:
                run()
        while len(loading):
            run()
    except Unreachable:
        assert not found
        return

    assert sorted(int(receipt.id) for receipt in found) == list(range(number))
    assert all(receipt.status is Outcome.ACCEPTED for receipt in found)
    assert most <= batch


def _answer(said: Said) -> ApiAnswer:
    head, _, body = said.raw.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return ApiAnswer(int(first.split()[1]), headers, body)


async def read(descriptor: int, most: int = 1_000) -> list[bytes | None]:
    return [line async for line in lines(descriptor, most)]


async def test_lines_of_a_pipe_are_yielded_as_they_arrive() -> None:
    reading, writing = os.pipe()
    found = lines(reading, 1_000)

    os.write(writing, b"one\ntw")
    first = await anext(found)
    os.write(writing, b"o\n")
    second = await anext(found)
    os.close(writing)
    rest = [line async for line in found]
    os.close(reading)

    assert (first, second, rest) == (b"one", b"two", [])


async def test_too_long_line_is_none(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"a\n" + b"x" * 200_000 + b"\nb\n" + b"y" * 1_001 + b"\n" + b"z" * 200_000)
    descriptor = os.open(tmp_path / "long", os.O_RDONLY)
    found = await read(descriptor)
    os.close(descriptor)

    assert found == [b"a", None, b"b", None, None]


@given(st.lists(st.integers(0, 30), max_size=50), st.integers(1, 7), st.booleans())
def test_groups_contain_all_items_in_order(given: list[int], most: int, is_async: bool) -> None:
    async def source() -> AsyncIterator[int]:
        for each in given:
            if each % 3 == 0:
                await asyncio.sleep(0)
            yield each

    async def run() -> list[list[int]]:
        return [group async for group in grouped(source() if is_async else given, most)]

    groups = asyncio.run(run())

    assert [each for group in groups for each in group] == given
    assert all(0 < len(group) <= most for group in groups)


async def test_source_error_is_raised_after_the_items_before_it() -> None:
    async def source() -> AsyncIterator[int]:
        yield 1
        raise OSError("no more")

    found, raised = [], ""
    try:
        async for group in grouped(source(), 10):
            found += group
    except OSError as error:
        raised = str(error)

    assert (found, raised) == ([1], "no more")


async def test_group_is_not_delayed_by_a_slow_source() -> None:
    more = asyncio.Event()

    async def source() -> AsyncIterator[int]:
        yield 1
        await more.wait()
        yield 2

    found = grouped(source(), 10)
    first = await anext(found)
    more.set()

    assert (first, await anext(found)) == ([1], [2])
    await found.aclose()
