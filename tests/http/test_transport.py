"""Writes within one loop iteration are sent together."""

from __future__ import annotations

import asyncio

from scoter.http.transport import BufferedTransport


class Wire(asyncio.Transport):
    """A transport that records its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[bytes | str] = []
        self.is_gone = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.told.append(bytes(data))

    def is_closing(self) -> bool:
        return self.is_gone

    def close(self) -> None:
        self.told.append("close")

    def abort(self) -> None:
        self.told.append("abort")

    def get_write_buffer_size(self) -> int:
        return 0


async def test_head_and_body_are_written_together_in_the_next_loop_iteration() -> None:
    wire = Wire()
    joined = BufferedTransport(wire, asyncio.get_running_loop())

    joined.write(b"head ")
    joined.write(b"")
    joined.write(b"body")
    before, held = list(wire.told), joined.get_write_buffer_size()
    await asyncio.sleep(0)
    joined.write(b"another")
    await asyncio.sleep(0)

    assert (before, held) == ([], 9)
    assert wire.told == [b"head body", b"another"]


async def test_large_buffer_is_written_at_once() -> None:
    wire = Wire()
    joined = BufferedTransport(wire, asyncio.get_running_loop())

    joined.write(b"head")
    joined.write(b"x" * 70_000)
    at_once = list(wire.told)
    await asyncio.sleep(0)

    assert at_once == wire.told == [b"head" + b"x" * 70_000]


async def test_close_flushes_the_buffer_and_abort_discards_it() -> None:
    closed, aborted = Wire(), Wire()
    loop = asyncio.get_running_loop()

    for wire, end in ((closed, BufferedTransport.close), (aborted, BufferedTransport.abort)):
        joined = BufferedTransport(wire, loop)
        joined.write(b"last")
        end(joined)
    await asyncio.sleep(0)

    assert closed.told == [b"last", "close"]
    assert aborted.told == ["abort"]


async def test_buffer_is_not_written_to_a_closed_connection() -> None:
    wire = Wire()

    BufferedTransport(wire, asyncio.get_running_loop()).write(b"late")
    wire.is_gone = True
    await asyncio.sleep(0)

    assert wire.told == []
