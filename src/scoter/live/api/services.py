"""The services that the handlers of the API depend on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

import msgspec
from msgspec import Struct

from scoter.config.sections.live import WebSettings
from scoter.http.api_keys import ApiKeys
from scoter.http.sessions import SessionAccess
from scoter.http.shares import ApiShares
from scoter.http.streams import Streams
from scoter.live.api.history import StatisticsHistory
from scoter.live.api.lookups import Lookup, UrlWaiters
from scoter.live.api.metrics import ServiceMetrics
from scoter.live.api.records import DomainActivity
from scoter.live.intake.messages import TakeResult
from scoter.live.ports import ContentStore, Deliveries, DomainRuleStore, Fetching
from scoter.live.records import Message


class MessageSink(Protocol):
    """Accepts messages: ``live.intake.messages.MessageReceiver``."""

    async def take(self, messages: Sequence[Message]) -> Sequence[TakeResult]: ...


class Services(Struct, frozen=True, kw_only=True):
    """What the API depends on.

    ``is_forced`` tells whether a URL waits in the journal for a forced fetch. ``fetch_slots`` limits direct fetches.
    ``waiting_for`` returns how many URLs of a tenant wait, ``activity`` the busiest domains, ``check_callback`` why a
    callback is not allowed, ``not_ready`` why the service is not ready, or "". ``openapi`` is the OpenAPI document.
    """

    sink: MessageSink
    lookup: Lookup
    is_forced: Callable[[str], bool] = lambda url: False
    waiters: UrlWaiters
    streams: Streams
    rules: DomainRuleStore
    deliveries: Deliveries
    wake_deliveries: Callable[[], None] = lambda: None
    fetching: Fetching
    waiting_for: Callable[[str], int] = lambda tenant: 0
    activity: Callable[[int], Sequence[DomainActivity]] = lambda most: ()
    content: ContentStore | None = None
    access: SessionAccess
    keys: ApiKeys
    metrics: ServiceMetrics
    history: StatisticsHistory
    check_callback: Callable[[str], str]
    not_ready: Callable[[], str] = lambda: ""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    web: WebSettings = WebSettings()
    shares: ApiShares = msgspec.field(default_factory=lambda: ApiShares.of(WebSettings()))
    fetch_slots: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(WebSettings().fetches))
    openapi: bytes = b""
