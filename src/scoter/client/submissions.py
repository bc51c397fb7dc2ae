"""Submit many messages: in batches, as fast as the service accepts them, from lists and from pipes."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from scoter.client.calls import MAX_BYTES, Steps, submit_batch, with_id
from scoter.client.errors import ClientError, Unreachable
from scoter.live.api.records import Outcome, Receipt, Submission

BATCH: Final = 500
PATIENCE: Final = 60.0
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
_DEFAULT_DELAY: Final = 5.0
_CONFLICT: Final = 409
_SAME_BATCH: Final = 1.0  # seconds: delayed messages that are due within this time are sent together
_CHUNK: Final = 64 * 1024


class _Unsent(Struct, frozen=True):
    """A message, its size, when it is due, and how long it has been delayed in total."""

    message: Submission
    size: int
    due: float = 0.0
    delayed: float = 0.0


class SubmissionBatcher:
    """Messages that the service has not accepted yet.

    A message refused because its domain's queue is full is delayed while the others proceed, for ``patience`` seconds
    in total; then its refusal is returned. If the whole service refuses or disappears, all messages wait, for
    ``patience`` seconds in a row; then the error is raised. It is raised at once if the service never answered. Every
    message has an ID, so sending it twice submits it once.
    """

    def __init__(
        self,
        *,
        batch: int = BATCH,
        patience: float = PATIENCE,
        max_delayed: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._batch = max(1, min(batch, 1_000))
        self._patience = patience
        self._max_delayed = max_delayed
        self._clock = clock
        self._fresh: deque[_Unsent] = deque()
        self._delayed: list[_Unsent] = []
        self._bytes = 0
        self._pause = 0.0
        self._has_answered = False
        self._failures = 0
        self._stalled = 0.0

    def __len__(self) -> int:
        return len(self._fresh) + len(self._delayed)

    @property
    def is_full(self) -> bool:
        """Whether a batch must be sent before more messages are added."""
        return len(self._fresh) >= self._batch or self._bytes >= MAX_BYTES or len(self._delayed) >= self._max_delayed

    @property
    def has_fresh(self) -> bool:
        """Whether there is a message that was never sent."""
        return bool(self._fresh)

    def add(self, message: Submission | str) -> None:
        found = with_id(message)
        size = len(msgspec.json.encode(found)) + 1
        self._fresh.append(_Unsent(found, size))
        self._bytes += size

    def send(self) -> Steps[list[Receipt]]:
        """Send one batch; return the receipts of the messages that are settled."""
        taken = self._take()
        if not taken:
            return []
        pause = max(self._pause, max(each.due for each in taken) - self._clock(), 0.0)
        self._pause = 0.0
        try:
            receipts = yield from submit_batch([each.message for each in taken], pause)
        except ClientError as error:
            if error.problem.status == _CONFLICT and len(taken) == 1:  # the answer to a single message
                self._has_answered = True
                return [Receipt(id=taken[0].message.id or "", status=Outcome.CONFLICT, entries={})]
            # If it never answered, the address is probably wrong.
            if not error.is_transient or (isinstance(error, Unreachable) and not self._has_answered):
                raise
            self._has_answered = True
            return self._put_back(taken, error)
        self._has_answered = True
        self._failures, self._stalled = 0, 0.0
        return self._settle(taken, receipts)

    def _take(self) -> list[_Unsent]:
        now = self._clock()
        due = [each for each in self._delayed if each.due <= now]
        if not due and (not self._fresh or len(self._delayed) >= self._max_delayed):
            soonest = min((each.due for each in self._delayed), default=0.0)
            due = [each for each in self._delayed if each.due <= soonest + _SAME_BATCH]
        taken: list[_Unsent] = []
        size = 0
        for each in due:
            if len(taken) >= self._batch or (taken and size + each.size > MAX_BYTES):
                break
            taken.append(each)
            size += each.size
        if taken:
            gone = {id(each) for each in taken}  # not by message ID: the same one may be submitted twice
            self._delayed = [each for each in self._delayed if id(each) not in gone]
        while self._fresh and len(taken) < self._batch and len(self._delayed) + len(taken) < self._max_delayed:
            if taken and size + self._fresh[0].size > MAX_BYTES:
                break
            each = self._fresh.popleft()
            self._bytes -= each.size
            taken.append(each)
            size += each.size
        return taken

    def _settle(self, taken: Sequence[_Unsent], receipts: Sequence[Receipt]) -> list[Receipt]:
        return [
            receipt
            for each, receipt in zip(taken, receipts, strict=True)
            if receipt.status is not Outcome.REFUSED or not self._delay(each, receipt.retry_after)
        ]

    def _delay(self, each: _Unsent, retry_after: float | None) -> bool:
        later = _DEFAULT_DELAY if retry_after is None else max(retry_after, _FIRST_PAUSE)
        if each.delayed + later > self._patience:
            return False
        self._delayed.append(msgspec.structs.replace(each, due=self._clock() + later, delayed=each.delayed + later))
        return True

    def _put_back(self, taken: Sequence[_Unsent], error: ClientError) -> list[Receipt]:
        problem = error.problem
        if problem.domain:  # all were refused, because of the same domain
            receipt = Receipt(id="", status=Outcome.REFUSED, entries={}, domain=problem.domain)
            refused = [each for each in taken if not self._delay(each, problem.retry_after)]
            return [
                msgspec.structs.replace(receipt, id=each.message.id, retry_after=problem.retry_after)
                for each in refused
            ]
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**self._failures)
        pause = max(pause, problem.retry_after or 0.0)
        self._failures = min(self._failures + 1, 20)
        self._stalled += pause
        if self._stalled > self._patience:
            raise error
        self._pause = pause
        for each in reversed(taken):
            self._fresh.appendleft(each)
            self._bytes += each.size
        return []


T = TypeVar("T")


async def grouped(source: Iterable[T] | AsyncIterable[T], most: int) -> AsyncGenerator[list[T], None]:
    """Yield groups of at most ``most`` items: those that have arrived, without waiting for a full group."""
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

    pump_task = asyncio.create_task(pump())
    try:
        while not (pump_task.done() and queue.empty()):
            get_task = asyncio.ensure_future(queue.get())
            try:
                await asyncio.wait((get_task, pump_task), return_when=asyncio.FIRST_COMPLETED)
                if not get_task.done():
                    continue
                ready = [get_task.result()]
            finally:
                get_task.cancel()
            while len(ready) < most and not queue.empty():
                ready.append(queue.get_nowait())
            yield ready
        pump_task.result()
    finally:
        pump_task.cancel()
        await asyncio.wait((pump_task,))


async def lines(descriptor: int, most: int) -> AsyncGenerator[bytes | None, None]:
    """Yield the lines of an open file or pipe, ``None`` for a line of more than ``most`` bytes."""
    rest = b""
    is_skipping = False
    async with aclosing(_chunks(descriptor)) as chunks:
        async for chunk in chunks:
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield None if is_skipping or len(line) > most else line
                is_skipping = False
            if len(rest) > most:
                rest, is_skipping = b"", True
    if rest or is_skipping:
        yield None if is_skipping else rest


async def _chunks(descriptor: int) -> AsyncGenerator[bytes, None]:
    """Yield data as soon as it can be read, without blocking the event loop on a pipe."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    try:
        loop.add_reader(descriptor, readable.set)
    except PermissionError:  # a file on disk is always readable
        while chunk := os.read(descriptor, _CHUNK):
            yield chunk
            await asyncio.sleep(0)
        return
    try:
        while True:
            await readable.wait()
            readable.clear()
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                return
            yield chunk
    finally:
        loop.remove_reader(descriptor)
