"""Many messages on their way in: in batches, at the pace that the service allows."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from scoter.client.calls import MOST_BYTES, Steps, named, submit_batch
from scoter.client.errors import ClientError, Unreachable
from scoter.client.records import Outcome, Receipt, Submission

BATCH: Final = 500
PATIENCE: Final = 60.0
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
_LATER: Final = 5.0
_TOGETHER: Final = 1.0  # seconds within which those that stand aside go as one batch


class _Waiting(Struct, frozen=True):
    """A message with its size, when it is due, and how long it has been put off."""

    message: Submission
    size: int
    due: float = 0.0
    put_off: float = 0.0


class Loading:
    """Messages that are not accepted yet.

    One that is refused for its domain's sake stands aside and lets the others pass, ``patience`` seconds in all, and
    is then given back as refused. When the whole service refuses, or has gone away, everything waits, ``patience``
    seconds in a row; then the error is raised, as it is at once when nobody ever answered. Since every message has an
    id, one that is sent again is still one.
    """

    def __init__(
        self,
        *,
        batch: int = BATCH,
        patience: float = PATIENCE,
        most_aside: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._batch = max(1, min(batch, 1_000))
        self._patience = patience
        self._most_aside = most_aside
        self._clock = clock
        self._fresh: deque[_Waiting] = deque()
        self._aside: list[_Waiting] = []
        self._bytes = 0
        self._pause = 0.0
        self._was_there = False
        self._failures = 0
        self._stalled = 0.0

    def __len__(self) -> int:
        return len(self._fresh) + len(self._aside)

    @property
    def is_full(self) -> bool:
        """Whether something must be sent before more is taken."""
        return len(self._fresh) >= self._batch or self._bytes >= MOST_BYTES or len(self._aside) >= self._most_aside

    @property
    def has_fresh(self) -> bool:
        """Whether there is a message that was not sent yet."""
        return bool(self._fresh)

    def add(self, message: Submission | str) -> None:
        """Take a message."""
        found = named(message)
        size = len(msgspec.json.encode(found)) + 1
        self._fresh.append(_Waiting(found, size))
        self._bytes += size

    def send(self) -> Steps[list[Receipt]]:
        """Send one batch; return the receipts of those that need not be sent again."""
        taken = self._take()
        if not taken:
            return []
        pause = max(self._pause, max(each.due for each in taken) - self._clock(), 0.0)
        self._pause = 0.0
        try:
            receipts = yield from submit_batch([each.message for each in taken], pause)
        except ClientError as error:
            # Who never answered is not expected to: the address may be wrong.
            if not error.is_transient or (isinstance(error, Unreachable) and not self._was_there):
                raise
            self._was_there = True
            return self._put_back(taken, error)
        self._was_there = True
        self._failures, self._stalled = 0, 0.0
        return self._settle(taken, receipts)

    def _take(self) -> list[_Waiting]:
        now = self._clock()
        due = [each for each in self._aside if each.due <= now]
        if not due and (not self._fresh or len(self._aside) >= self._most_aside):
            soonest = min((each.due for each in self._aside), default=0.0)
            due = [each for each in self._aside if each.due <= soonest + _TOGETHER]
        taken: list[_Waiting] = []
        size = 0
        for each in due:
            if len(taken) >= self._batch or (taken and size + each.size > MOST_BYTES):
                break
            taken.append(each)
            size += each.size
        if taken:
            gone = {id(each) for each in taken}  # not by the messages' own ids: some may come twice
            self._aside = [each for each in self._aside if id(each) not in gone]
        while self._fresh and len(taken) < self._batch and len(self._aside) + len(taken) < self._most_aside:
            if taken and size + self._fresh[0].size > MOST_BYTES:
                break
            each = self._fresh.popleft()
            self._bytes -= each.size
            taken.append(each)
            size += each.size
        return taken

    def _settle(self, taken: Sequence[_Waiting], receipts: Sequence[Receipt]) -> list[Receipt]:
        settled = []
        for each, receipt in zip(taken, receipts, strict=True):
            if receipt.status is not Outcome.REFUSED or not self._set_aside(each, receipt.retry_after):
                settled.append(receipt)
        return settled

    def _set_aside(self, each: _Waiting, retry_after: float | None) -> bool:
        later = _LATER if retry_after is None else max(retry_after, _FIRST_PAUSE)
        if each.put_off + later > self._patience:
            return False
        self._aside.append(msgspec.structs.replace(each, due=self._clock() + later, put_off=each.put_off + later))
        return True

    def _put_back(self, taken: Sequence[_Waiting], error: ClientError) -> list[Receipt]:
        problem = error.problem
        if problem.domain:  # there was room for none of them, and for the same reason
            told = Receipt(id="", status=Outcome.REFUSED, entries={}, domain=problem.domain)
            refused = [each for each in taken if not self._set_aside(each, problem.retry_after)]
            return [
                msgspec.structs.replace(told, id=each.message.id, retry_after=problem.retry_after) for each in refused
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
