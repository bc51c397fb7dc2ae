"""Submission of messages."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from scoter.api import Outcome, Problem, Receipt, Receipts, Submission, Submissions, UnusableUrl
from scoter.live.acceptance import Overloaded
from scoter.live.acceptance import TakeResult as Acceptance
from scoter.live.records import Message, Priority
from scoter.web.asgi import ApiRequest, ApiResponse
from scoter.web.metrics import ServiceMetrics
from scoter.web.problems import problem
from scoter.web.routes import HandlerResult, ResponseSpec, Route


class MessageSink(Protocol):
    """Accepts messages: ``live.acceptance.Acceptance``."""

    async def take(self, messages: Sequence[Message]) -> Sequence[Acceptance]: ...


class MessageRoutes:
    """Accepts messages, one or several."""

    def __init__(
        self,
        sink: MessageSink,
        check_callback: Callable[[str], str],
        metrics: ServiceMetrics,
        clock: Callable[[], datetime],
    ) -> None:
        self._sink = sink
        self._check = check_callback
        self._metrics = metrics
        self._clock = clock

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path="/v1/messages",
                run=self.submit,
                summary="Submit one message or several.",
                scope="submit",
                body=Submission | Submissions,
                responses={202: ResponseSpec("What happened to each message.", Receipts)},
                problems=(429,),
            )
        ]

    async def submit(self, call: ApiRequest[Submission | list[Submission]]) -> HandlerResult:
        """Accept messages durably; respond with an error only if all of them are refused."""
        several = isinstance(call.body, list)
        orders = call.body if isinstance(call.body, list) else [call.body]
        for at, order in enumerate(orders):
            if order.callback and (why := self._check(order.callback)):
                where = f"/{at}/callback" if several else "/callback"
                return problem(422, "callback", "The callback is not allowed.", why, where=where)
        messages = [self._message(order) for order in orders]
        answers = await self._sink.take(messages)
        receipts = [_receipt(message, answer) for message, answer in zip(messages, answers, strict=True)]
        for receipt in receipts:
            self._metrics.messages.add(receipt.status.value)
            if receipt.status is Outcome.REFUSED:
                self._metrics.refusals.add("domain" if receipt.domain else "service")
        if all(receipt.status is Outcome.REFUSED for receipt in receipts):
            return _overloaded(receipts)
        later = [receipt.retry_after for receipt in receipts if receipt.retry_after is not None]
        headers = ((b"retry-after", b"%d" % max(1, math.ceil(max(later)))),) if later else ()
        return ApiResponse(msgspec.json.encode(Receipts(receipts)), 202, headers=headers)

    def _message(self, order: Submission) -> Message:
        return Message(
            id=order.id or uuid.uuid4().hex,
            text=order.text,
            urls=order.urls,
            priority=Priority[order.priority.upper()],
            force=order.force,
            callback=order.callback,
            received=self._clock(),
        )


def _receipt(message: Message, answer: Acceptance) -> Receipt:
    if isinstance(answer, Overloaded):
        return Receipt(
            id=message.id,
            status=Outcome.REFUSED,
            entries={},
            retry_after=answer.retry_after,
            domain=answer.domain,
        )
    return Receipt(
        id=answer.accepted.message,
        status=Outcome.ACCEPTED if answer.accepted.is_new else Outcome.KNOWN,
        entries=answer.accepted.entries,
        unusable=tuple(UnusableUrl(each.url, each.why) for each in answer.unusable),
        left_out=answer.left_out,
    )


def _overloaded(receipts: Sequence[Receipt]) -> Problem:
    # Each can be retried as soon as the queue of its domain has space: tell the client the first of these times.
    soonest = min(receipts, key=lambda receipt: receipt.retry_after or 0.0)
    domain = soonest.domain if len({receipt.domain for receipt in receipts}) == 1 else ""
    title = f"Too many URLs of {domain} are waiting." if domain else "Too many URLs are waiting."
    found = problem(429, "overloaded", title, "Nothing was accepted; retry later.", retry_after=soonest.retry_after)
    return msgspec.structs.replace(found, domain=domain)
