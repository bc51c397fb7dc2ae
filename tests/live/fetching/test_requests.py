"""Direct requests to the sockets of workers."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from tests.fetch.fakes import answer

from scoter.core.reply import Fetched, Request
from scoter.core.url import canonical
from scoter.live.fetching import process
from scoter.live.fetching.requests import fetch_directly
from scoter.live.fetching.wire import FrameConnection, HopDone, MakeHop, WireMessage


async def test_hanging_worker_does_not_block_direct_requests(tmp_path: Path) -> None:
    def accept() -> FrameConnection:
        def receive(message: WireMessage) -> None:
            assert isinstance(message, MakeHop)
            frames.send(HopDone(message.id, answer(message.request.url)))

        frames = FrameConnection(receive)
        return frames

    holder = await asyncio.get_running_loop().create_unix_server(accept, path=str(tmp_path / "fetcher-2.sock"))
    with socket.socket(socket.AF_UNIX) as still:
        still.bind(str(tmp_path / "fetcher-1.sock"))
        still.listen()
        async with asyncio.timeout(30):
            reply = await fetch_directly(tmp_path, Request(url=canonical("http://a.example/")))
    holder.close()

    assert isinstance(reply, Fetched)


async def test_number_of_direct_connections_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_MOST_DIRECT", 2)
    direct = process.DirectRequests(None)  # type: ignore[arg-type]  # nobody says anything
    path = str(tmp_path / "sock")
    listening = await asyncio.get_running_loop().create_unix_server(direct.accept, path=path)
    readers, writers = zip(*[await asyncio.open_unix_connection(path) for _ in range(3)], strict=True)
    async with asyncio.timeout(30):
        assert await readers[2].read() == b""

    assert not readers[0].at_eof()
    for writer in writers:
        writer.close()
    listening.close()
