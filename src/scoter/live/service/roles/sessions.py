"""Sessions that all api processes of a cluster share, in a compacted topic.

As in the file of a single server, a session is stored by the digest of its secret, with the ID of its key: the topic is
useless without the cookies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.http.sessions import Sessions, StoredSession
from scoter.live.kafka.consumer import ReceivedMessage
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.kafka import KafkaSender, OutgoingMessage, TopicNames
from scoter.live.kafka.messages import MessageFormat, UnreadableMessage
from scoter.live.kafka.topic_reader import TopicTail

_SHARED_WITHIN: Final = 2.0  # seconds that a login waits for Kafka
_format: Final = MessageFormat(StoredSession)


class SharedSessions(Sessions):
    """The sessions of a cluster. ``start`` it before use."""

    def __init__(self, settings: KafkaClusterSettings, sender: KafkaSender, name: str) -> None:
        super().__init__()
        self._topic = TopicNames(settings.prefix).sessions
        self._sender = sender
        self._sent: dict[bytes, asyncio.Event] = {}
        self._tail = TopicTail(settings, self._topic, 0, self._receive, name=f"{name}-sessions", from_start=True)

    async def start(self) -> None:
        """Read all sessions, and continue to read changes."""
        await self._tail.start()

    async def close(self) -> None:
        await self._tail.close()

    async def shared(self) -> None:
        """Wait until Kafka has the changes of this process; without Kafka, they are known here only."""
        waiting = list(self._sent.values())
        with suppress(TimeoutError):
            async with asyncio.timeout(_SHARED_WITHIN):
                for each in waiting:
                    await each.wait()

    def _changed(self, digest: bytes, session: StoredSession | None) -> None:
        self._sent[digest] = asyncio.Event()
        value = None if session is None else _format.encode(session)
        self._sender.put(OutgoingMessage(self._topic, value, digest, 0))

    def _receive(self, messages: Sequence[ReceivedMessage]) -> None:
        for message in messages:
            digest = message.key or b""
            if (sent := self._sent.pop(digest, None)) is not None:
                sent.set()
            if message.value is None:
                self._learn(digest, None)
                continue
            try:
                self._learn(digest, _format.decode(message.value))
            except UnreadableMessage as error:
                FAULTS.note("kafka", FaultKind.UNREADABLE, f"unreadable session at offset {message.offset}: {error}")
