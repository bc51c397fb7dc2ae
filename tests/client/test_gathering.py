"""Lines out of pipes and files, and groups of what is there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from scoter.client.gathering import gathered, lines


async def read(descriptor: int, most: int = 1_000) -> list[bytes | None]:
    return [line async for line in lines(descriptor, most)]


async def test_a_line_comes_out_of_a_pipe_before_the_next_goes_in() -> None:
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


async def test_a_line_that_is_too_long_is_none_however_it_comes(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"a\n" + b"x" * 200_000 + b"\nb\n" + b"y" * 1_001 + b"\n" + b"z" * 200_000)
    descriptor = os.open(tmp_path / "long", os.O_RDONLY)
    found = await read(descriptor)
    os.close(descriptor)

    assert found == [b"a", None, b"b", None, None]


@given(st.lists(st.integers(0, 30), max_size=50), st.integers(1, 7), st.booleans())
def test_groups_hold_everything_in_its_order(given: list[int], most: int, is_async: bool) -> None:
    async def source() -> AsyncIterator[int]:
        for each in given:
            if each % 3 == 0:
                await asyncio.sleep(0)
            yield each

    async def run() -> list[list[int]]:
        return [group async for group in gathered(source() if is_async else given, most)]

    groups = asyncio.run(run())

    assert [each for group in groups for each in group] == given
    assert all(0 < len(group) <= most for group in groups)


async def test_what_goes_wrong_in_the_source_is_raised_after_what_came_before() -> None:
    async def source() -> AsyncIterator[int]:
        yield 1
        raise OSError("no more")

    found, raised = [], ""
    try:
        async for group in gathered(source(), 10):
            found += group
    except OSError as error:
        raised = str(error)

    assert (found, raised) == ([1], "no more")


async def test_what_comes_first_is_not_held_back_for_what_comes_later() -> None:
    more = asyncio.Event()

    async def source() -> AsyncIterator[int]:
        yield 1
        await more.wait()
        yield 2

    found = gathered(source(), 10)
    first = await anext(found)
    more.set()

    assert (first, await anext(found)) == ([1], [2])
    await found.aclose()
