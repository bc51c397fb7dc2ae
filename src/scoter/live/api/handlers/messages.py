"""Submission of messages."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final

import msgspec

from scoter.http.asgi import ApiRequest, ApiResponse
from scoter.http.problems import problem, retry_header
from scoter.http.records import Problem
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.live.api.records import Outcome, Receipt, Receipts, Submission, Submissions
from scoter.live.api.services import Services
from scoter.live.intake.messages import Overloaded, TakeResult
from scoter.live.records import Message, Priority
from scoter.live.tenants import scoped_id, split_id

_CONFLICT: Final = problem(
    409,
    "id-conflict",
    "The ID belongs to a message with other content.",
    "Nothing was accepted. Send the same message again, or choose another ID.",
    where="/id",
)


@route(
    "POST",
    "/v1/messages",
    {202: ResponseSpec("What happened to each message.", Receipts)},
    scope="submit",
    body=Submission | Submissions,
    problems=(409, 429),
)
async def submit(services: Services, call: ApiRequest[Submission | list[Submission]]) -> HandlerResult:
    """Submit one message or several."""
    several = isinstance(call.body, list)
    orders = call.body if isinstance(call.body, list) else [call.body]
    for at, order in enumerate(orders):
        if not order.text and not order.urls:
            detail = "Send a text that contains links, a list of URLs, or both."
            return problem(422, "invalid", "The message is empty.", detail, where=f"/{at}" if several else "")
        if order.callback and (why := services.check_callback(order.callback)):
            where = f"/{at}/callback" if several else "/callback"
            return problem(422, "callback", "The callback is not allowed.", why, where=where)
    receipts = await take(services, orders, call.caller.tenant)
    if not several and receipts[0].status is Outcome.CONFLICT:
        return _CONFLICT
    if all(receipt.status is Outcome.REFUSED for receipt in receipts):
        return overloaded(receipts)
    later = [receipt.retry_after for receipt in receipts if receipt.retry_after is not None]
    headers = (retry_header(max(later)),) if later else ()
    return ApiResponse(msgspec.json.encode(Receipts(receipts)), 202, headers=headers)


async def take(services: Services, orders: Sequence[Submission], tenant: str) -> list[Receipt]:
    """Accept or refuse messages of a tenant, and count them."""
    messages = [_message(order, tenant, services.clock()) for order in orders]
    answers = await services.sink.take(messages)
    receipts = []
    for message, answer in zip(messages, answers, strict=True):
        receipt = _receipt(message, answer)
        receipts.append(receipt)
        services.metrics.received(tenant, receipt.status.value)
        if isinstance(answer, Overloaded):
            services.metrics.refusals.add("domain" if answer.domain else "tenant" if answer.is_tenant else "service")
    return receipts


def _message(order: Submission, tenant: str, now: datetime) -> Message:
    return Message(
        id=scoped_id(tenant, order.id or uuid.uuid4().hex),
        text=order.text,
        urls=order.urls,
        priority=Priority[order.priority.upper()],
        force=order.force,
        callback=order.callback,
        received=now,
        is_named=bool(order.id),
        digest=_digest(order) if order.id else b"",
    )


def _digest(order: Submission) -> bytes:
    """Return the digest of all that a sender chose. It must not depend on the version or on settings."""
    chosen = (order.text, order.urls, order.priority, order.force, order.callback)
    return sha256(msgspec.json.encode(chosen)).digest()


def _receipt(message: Message, answer: TakeResult) -> Receipt:
    name = split_id(message.id)[1]
    if isinstance(answer, Overloaded):
        return Receipt(
            id=name, status=Outcome.REFUSED, entries={}, retry_after=answer.retry_after, domain=answer.domain
        )
    if answer.accepted.is_conflict:
        return Receipt(id=name, status=Outcome.CONFLICT, entries={})
    return Receipt(
        id=name,
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
