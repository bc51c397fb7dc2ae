"""Submission of messages."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime

import msgspec

from scoter.api import Outcome, Problem, Receipt, Receipts, Submission, Submissions
from scoter.live.acceptance import Overloaded, TakeResult
from scoter.live.records import Message, Priority
from scoter.web.asgi import ApiRequest, ApiResponse
from scoter.web.problems import problem, retry_header
from scoter.web.routes import HandlerResult, ResponseSpec, route
from scoter.web.services import Services


@route(
    "POST",
    "/v1/messages",
    {202: ResponseSpec("What happened to each message.", Receipts)},
    scope="submit",
    body=Submission | Submissions,
    problems=(429,),
)
async def submit(services: Services, call: ApiRequest[Submission | list[Submission]]) -> HandlerResult:
    """Submit one message or several."""
    several = isinstance(call.body, list)
    orders = call.body if isinstance(call.body, list) else [call.body]
    for at, order in enumerate(orders):
        if order.callback and (why := services.check_callback(order.callback)):
            where = f"/{at}/callback" if several else "/callback"
            return problem(422, "callback", "The callback is not allowed.", why, where=where)
    receipts = await take(services, orders)
    if all(receipt.status is Outcome.REFUSED for receipt in receipts):
        return overloaded(receipts)
    later = [receipt.retry_after for receipt in receipts if receipt.retry_after is not None]
    headers = (retry_header(max(later)),) if later else ()
    return ApiResponse(msgspec.json.encode(Receipts(receipts)), 202, headers=headers)


async def take(services: Services, orders: Sequence[Submission]) -> list[Receipt]:
    """Accept or refuse messages, and count them."""
    messages = [_message(order, services.clock()) for order in orders]
    answers = await services.sink.take(messages)
    receipts = [_receipt(message, answer) for message, answer in zip(messages, answers, strict=True)]
    for receipt in receipts:
        services.metrics.messages.add(receipt.status.value)
        if receipt.status is Outcome.REFUSED:
            services.metrics.refusals.add("domain" if receipt.domain else "service")
    return receipts


def _message(order: Submission, now: datetime) -> Message:
    return Message(
        id=order.id or uuid.uuid4().hex,
        text=order.text,
        urls=order.urls,
        priority=Priority[order.priority.upper()],
        force=order.force,
        callback=order.callback,
        received=now,
        is_named=bool(order.id),
    )


def _receipt(message: Message, answer: TakeResult) -> Receipt:
    if isinstance(answer, Overloaded):
        return Receipt(
            id=message.id, status=Outcome.REFUSED, entries={}, retry_after=answer.retry_after, domain=answer.domain
        )
    return Receipt(
        id=answer.accepted.message,
        status=Outcome.ACCEPTED if answer.accepted.is_new else Outcome.KNOWN,
        entries=answer.accepted.entries,
        unusable=answer.unusable,
        left_out=answer.left_out,
    )


def overloaded(receipts: Sequence[Receipt]) -> Problem:
    """Return the problem of messages that were all refused."""
    # Each can be retried as soon as the queue of its domain has space: tell the client the first of these times.
    soonest = min(receipts, key=lambda receipt: receipt.retry_after or 0.0)
    domain = soonest.domain if len({receipt.domain for receipt in receipts}) == 1 else ""
    title = f"Too many URLs of {domain} are waiting." if domain else "Too many URLs are waiting."
    found = problem(429, "overloaded", title, "Nothing was accepted; retry later.", retry_after=soonest.retry_after)
    return msgspec.structs.replace(found, domain=domain)
