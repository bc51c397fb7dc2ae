"""From a resource to an answer: status, headers and body, and when "not modified" is enough."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from html import escape
from zlib import crc32

import msgspec

from .facts import AnswerClass, Delivery, Resource, Validators
from .files import START, moment

_FAILING = frozenset({AnswerClass.FORBIDDEN, AnswerClass.BUSY, AnswerClass.RECOVERING, AnswerClass.SERVER_ERROR})


class Answer(msgspec.Struct, frozen=True):
    """What is to be sent: not yet compressed, framed or spoilt."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    delivery: Delivery = Delivery.LENGTH
    compress: bool = False


def nothing_here(host: str, path: str) -> Answer:
    """The answer for a URL that is not of this web."""
    text = f"<!DOCTYPE html>\n<title>Not found</title>\n<p>No {escape(host + path)} in this web.</p>\n"
    return Answer(404, (("Content-Type", "text/html; charset=utf-8"),), text.encode())


def answer_of(resource: Resource, now: float, attempt: int = 0) -> Answer:
    """The full answer of a resource at ``now`` seconds of simulated time, after ``attempt`` earlier ones."""
    fails = resource.answer in _FAILING
    recovered = resource.answer is AnswerClass.RECOVERING and attempt >= resource.failures
    headers = [("Content-Type", resource.content_type)] if resource.content_type else []
    if resource.location:
        headers.append(("Location", resource.location))
    if not recovered:
        headers.extend(resource.headers)
    if fails and not recovered:
        return Answer(resource.status, tuple(headers), b"Not now.\n", resource.delivery)
    headers.extend(validators(resource, now))
    return Answer(
        200 if recovered else resource.status,
        tuple(headers),
        resource.body(resource.version(now)),
        resource.delivery,
        resource.compress,
    )


def validators(resource: Resource, now: float) -> list[tuple[str, str]]:
    """The headers by which a client can ask again for changes only."""
    found = []
    if resource.validators in (Validators.BOTH, Validators.ETAG):
        found.append(("ETag", f'"{_tag(resource, now)}"'))
    if resource.validators in (Validators.BOTH, Validators.MODIFIED):
        found.append(("Last-Modified", format_datetime(moment(resource.modified(now)), usegmt=True)))
    return found


def unchanged(resource: Resource, now: float, if_none_match: str, if_modified_since: str) -> bool:
    """Whether 304 is the answer to a conditional request."""
    if resource.status != 200 or resource.validators is Validators.NONE:
        return False
    if if_none_match:
        # RFC 9110 section 13.1.3: with If-None-Match present, If-Modified-Since is not looked at.
        if resource.validators is Validators.MODIFIED:
            return False
        tag = _tag(resource, now)
        given = (part.strip().removeprefix("W/").strip('"') for part in if_none_match.split(","))
        return any(part == "*" or part.removesuffix("-gz") == tag for part in given)
    if if_modified_since and resource.validators is not Validators.ETAG:
        try:
            since = parsedate_to_datetime(if_modified_since)
        except ValueError:
            return False  # RFC 9110 section 13.1.3: an invalid date is ignored.
        return _seconds(since) >= resource.modified(now)
    return False


def _seconds(date: datetime) -> float:
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return (aware - START).total_seconds()


def _tag(resource: Resource, now: float) -> str:
    return f"{crc32(resource.url.encode()):08x}-{resource.version(now)}"
