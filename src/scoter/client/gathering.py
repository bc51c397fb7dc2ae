"""Messages that come one by one: out of a pipe as soon as they can be read, on in groups of those that are there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing
from typing import Final, TypeVar

_PIECE: Final = 64 * 1024
T = TypeVar("T")


async def gathered(source: Iterable[T] | AsyncIterable[T], most: int) -> AsyncGenerator[list[T], None]:
    """Yield what has come since the last group, at most ``most`` at once; never nothing."""
    if isinstance(source, Iterable):
        group: list[T] = []
        for each in source:
            group.append(each)
            if len(group) >= most:
                yield group
                group = []
        if group:
            yield group
        return
    queue: asyncio.Queue[T] = asyncio.Queue(most)

    async def pump() -> None:
        async for each in source:
            await queue.put(each)

    pumping = asyncio.create_task(pump())
    try:
        while not (pumping.done() and queue.empty()):
            getting = asyncio.ensure_future(queue.get())
            try:
                await asyncio.wait((getting, pumping), return_when=asyncio.FIRST_COMPLETED)
                if not getting.done():
                    continue
                ready = [getting.result()]
            finally:
                getting.cancel()
            while len(ready) < most and not queue.empty():
                ready.append(queue.get_nowait())
            yield ready
        pumping.result()
    finally:
        pumping.cancel()
        await asyncio.wait((pumping,))


async def lines(descriptor: int, most: int) -> AsyncGenerator[bytes | None, None]:
    """Yield the lines of an open file or pipe, none in the place of one of more than ``most`` bytes."""
    rest = b""
    is_skipping = False
    async with aclosing(_pieces(descriptor)) as pieces:
        async for piece in pieces:
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield None if is_skipping or len(line) > most else line
                is_skipping = False
            if len(rest) > most:
                rest, is_skipping = b"", True
    if rest or is_skipping:
        yield None if is_skipping else rest


async def _pieces(descriptor: int) -> AsyncGenerator[bytes, None]:
    """Yield what can be read, as soon as it can: from a pipe without holding up anything else."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    try:
        loop.add_reader(descriptor, readable.set)
    except PermissionError:  # a file on disk, which is always readable
        while piece := os.read(descriptor, _PIECE):
            yield piece
            await asyncio.sleep(0)
        return
    try:
        while True:
            await readable.wait()
            readable.clear()
            piece = os.read(descriptor, _PIECE)
            if not piece:
                return
            yield piece
    finally:
        loop.remove_reader(descriptor)
