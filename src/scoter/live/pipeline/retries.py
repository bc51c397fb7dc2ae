"""When a URL whose fetch has failed is fetched again, and the task that does so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeGuard
from uuid import uuid4

from scoter.core.reply import Failed, Reason, Reply
from scoter.errors import ScoterError
from scoter.live.records import Message, Priority
from scoter.live.tenants import scoped_id

PASSING: Final = frozenset({Reason.BUSY, Reason.RESET, Reason.TIMEOUT})
"""The reasons of failures that may pass: 429, 503, a reset or a timeout."""
# A site that answers 503 to everything answers so to the request for its robots.txt.
_RETRIED: Final = PASSING | {Reason.ROBOTS_UNREACHABLE}
_EVERY: Final = 1.0
_AT_ONCE: Final = 200
_log = logging.getLogger(__name__)


def is_retried(reply: Reply) -> TypeGuard[Failed]:
    """Return whether a URL is fetched again after this reply."""
    return isinstance(reply, Failed) and reply.reason in _RETRIED


def retry_delay(reply: Reply, failures: int, delays: Sequence[timedelta]) -> timedelta | None:
    """Return how long after a reply its URL is fetched again; ``None`` if it is not.

    ``failures`` counts the failures before this one. A server that asks for more time gets it.
    """
    if not is_retried(reply) or failures >= len(delays):
        return None
    return max(delays[failures], reply.retry_after or timedelta())


def retry_message(url: str, tenant: str, now: datetime) -> Message:
    """Return the message that submits a URL again for a tenant. It comes after everything that others wait for."""
    return Message(
        id=scoped_id(tenant, f"retry-{uuid4().hex}"), urls=(url,), priority=Priority.BULK, received=now, is_named=False
    )


class RetryQueue(Protocol):
    """URLs to be fetched again, each at its time. ``OutcomeRecorder.record`` adds and removes them."""

    async def accept_retries(self, most: int) -> int:
        """Turn at most ``most`` retries that are due into messages, each in the same write; return how many."""

    def retries(self) -> int:
        """Return the number of URLs that will be fetched again."""


class RetryTimer:
    """Submits the URLs whose retry is due."""

    def __init__(self, queue: RetryQueue, on_accepted: Callable[[], None] = lambda: None) -> None:
        self._queue = queue
        self._on_accepted = on_accepted

    async def run(self) -> None:
        """Submit due retries until cancelled."""
        while True:
            try:
                if await self._queue.accept_retries(_AT_ONCE):
                    self._on_accepted()
            except ScoterError as error:  # they stay due
                _log.warning("cannot submit retries: %s", error)
            await asyncio.sleep(_EVERY)
