"""Replies handed to a sink in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

import pytest
from tests.fetch.fakes import answer, request

from scoter.core.reply import Failed, Reason, Reply, Request
from scoter.fetch.sinks import BatchingSink

A, B, C = (request(f"http://{name}.example/") for name in "abc")


def took(together: BatchingSink, request: Request, body: bytes = b"") -> asyncio.Future[None]:
    """Hand over a page; return what ends when the sink is done with it."""
    end = together.take(request, answer(request.url, body=body))
    assert end is not None
    return asyncio.ensure_future(end)


class Sink:
    """Notes what it is handed; of some it is done later, of some never, since they fail."""

    def __init__(self, *late: Request, broken: bool = False) -> None:
        self.handed: list[list[str]] = []
        self.gate = asyncio.Event()
        self._late = {request.url for request in late}
        self._broken = broken

    def __call__(self, replies: Sequence[tuple[Request, Reply]]) -> list[Awaitable[None] | None]:
        self.handed.append([request.url.host for request, _ in replies])
        if self._broken:
            raise ZeroDivisionError
        return [self._later() if request.url in self._late else None for request, _ in replies]

    async def _later(self) -> None:
        await self.gate.wait()
        if not self.handed:
            raise OSError("full")


async def test_replies_are_handed_on_when_there_are_enough() -> None:
    sink = Sink()
    together = BatchingSink(sink, batch=2)

    ends = [took(together, each) for each in (A, B, C)]

    assert sink.handed == [["a.example", "b.example"]]
    await asyncio.gather(*ends[:2])
    assert not ends[2].done()
    await together.settle(10)


async def test_single_reply_is_handed_on_after_a_short_wait() -> None:
    sink = Sink()

    await asyncio.wait_for(took(BatchingSink(sink), A), 10)

    assert sink.handed == [["a.example"]]


async def test_large_bodies_are_handed_on_at_once() -> None:
    sink = Sink()
    together = BatchingSink(sink)

    ends = [took(together, each, b"x" * 600_000) for each in (A, B, C)]

    assert sink.handed == [["a.example", "b.example"]]
    await asyncio.gather(*ends)
    assert sink.handed[1:] == [["c.example"]]


async def test_slow_sink_reply_does_not_block_others() -> None:
    sink = Sink(A)
    together = BatchingSink(sink, batch=2)

    late, soon = (took(together, each) for each in (A, B))
    await soon

    assert not late.done()
    settling = asyncio.create_task(together.settle(10))
    await asyncio.sleep(0)
    assert not settling.done()
    sink.gate.set()
    await asyncio.gather(late, settling)
    assert repr(together) == "BatchingSink(0 replies, 0 with the sink)"


async def test_sink_error_fails_the_whole_batch() -> None:
    together = BatchingSink(Sink(broken=True), batch=2)

    ends = [took(together, each) for each in (A, B)]

    for end in ends:
        with pytest.raises(ZeroDivisionError):
            await end


async def test_late_sink_error_fails_only_its_reply() -> None:
    sink = Sink(A)
    together = BatchingSink(sink, batch=2)
    ends = [took(together, each) for each in (A, B)]
    sink.handed.clear()
    sink.gate.set()

    with pytest.raises(OSError, match="full"):
        await ends[0]
    await ends[1]


async def test_unawaited_reply_is_handed_on() -> None:
    sink = Sink()
    together = BatchingSink(sink)
    waiting = took(together, A)
    waiting.cancel()

    await together.settle(10)

    assert sink.handed == [["a.example"]]


async def test_unawaited_sink_error_is_raised_at_the_end() -> None:
    together = BatchingSink(Sink(broken=True))
    took(together, A).cancel()

    with pytest.raises(ZeroDivisionError):
        await together.settle(10)


async def test_endless_sink_does_not_block_settling() -> None:
    sink = Sink(A)
    together = BatchingSink(sink, batch=1)
    waiting = took(together, A)

    await together.settle(0.01)

    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_dropped_batch_is_not_handed_on() -> None:
    sink = Sink()
    together = BatchingSink(sink)
    waiting = took(together, A)

    together.drop()
    await asyncio.sleep(0.01)

    assert not sink.handed
    assert not waiting.done()


async def test_reply_without_exchange_is_handed_on_at_once() -> None:
    sink = Sink()
    together = BatchingSink(sink)
    waiting = took(together, A)

    assert together.take(B, Failed(B.url, Reason.STOPPED, "")) is None
    assert sink.handed == [["b.example"]]

    await waiting
    assert sink.handed == [["b.example"], ["a.example"]]
