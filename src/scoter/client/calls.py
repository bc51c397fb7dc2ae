"""What is asked of the API and how its answers are read, without a socket.

Each function returns steps: a generator that yields calls, is sent their answers, and returns the result. A call that
found nobody is thrown into it as ``Unreachable``. So a client that blocks and one that awaits do the same.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from scoter.client.errors import ClientError, not_understood
from scoter.client.records import (
    Absence,
    ApiKey,
    BodyForm,
    DomainRule,
    FetchAnswer,
    KeyScope,
    Missing,
    NewKey,
    Problem,
    Receipt,
    Statistics,
    Submission,
    Urgency,
)
from scoter.errors import UsageError
from scoter.live.records import UrlRecord

MOST_URLS: Final = 300
MOST_BYTES: Final = 900_000  # the service takes bodies of a mebibyte
LONGEST_URL: Final = 8_192
_LONGEST_QUERY: Final = 8_000  # of a head that may have 32 KiB
_LONGEST_WAIT: Final = 30.0
_SHORTEST_WAIT: Final = 1.0  # what a service that answers at once is not asked more often than
_MOMENT: Final = 0.05  # of a wait, for which no call is worth its while
_FETCH_WITHIN: Final = 60.0
_SHOWN: Final = 200

T = TypeVar("T")


class Call(Struct, frozen=True):
    """One request; ``after`` so many seconds, and with ``within`` more for the answer than the client usually has.

    It may be repeated without harm, unless it is to be made ``once``.
    """

    method: str
    target: str
    body: bytes | None = None
    after: float = 0.0
    within: float = 0.0
    once: bool = False


class Answer(Struct, frozen=True):
    """What came back; names of fields in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Steps: TypeAlias = Generator[Call, Answer, T]


class _Receipts(Struct, frozen=True):
    messages: list[Receipt]


class _Keys(Struct, frozen=True):
    keys: list[ApiKey]


class _Found(Struct, frozen=True):
    results: list[msgspec.Raw]


def submission(
    text: str,
    *,
    urls: Iterable[str] = (),
    id: str = "",  # noqa: A002  the API's own name
    priority: Urgency = "normal",
    force: bool = False,
    callback: str = "",
) -> Submission:
    """Return a message that is safe to be sent twice: it has an id."""
    if isinstance(urls, str):
        raise UsageError("urls is one text, not a list of URLs", hint=f"Write urls=[{urls!r}].")
    return named(Submission(id=id, text=text, urls=tuple(urls), priority=priority, force=force, callback=callback))


def named(message: Submission | str) -> Submission:
    """Return a message with an id, made now if it has none, and with nothing that JSON could not carry."""
    found = Submission(text=message) if isinstance(message, str) else message
    return msgspec.structs.replace(
        found,
        id=_sound(found.id) or uuid.uuid4().hex,
        text=_sound(found.text),
        urls=tuple(map(_sound, found.urls)),
        callback=_sound(found.callback),
    )


def submit(message: Submission) -> Steps[Receipt]:
    return (yield from submit_batch([message]))[0]


def submit_batch(messages: Sequence[Submission], after: float = 0.0) -> Steps[list[Receipt]]:
    """Submit messages together; return their receipts in the same order."""
    body = msgspec.json.encode(messages if len(messages) != 1 else messages[0])
    answer = yield Call("POST", "/v1/messages", body, after)
    receipts = read(answer, _Receipts).messages
    if len(receipts) != len(messages):
        raise not_understood("/v1/messages", f"{len(receipts)} receipts for {len(messages)} messages")
    return receipts


def lookup(url: str, wait: float = 0.0, clock: Callable[[], float] = time.monotonic) -> Steps[UrlRecord | Missing]:
    """Look one URL up; the service waits for half a minute at most, or for less, so that a wait may be several calls.

    One that did not wait at all is asked again in a second, and so is one that has answered before and cannot now: it
    may have been started again meanwhile.
    """
    if not _is_usable(url):
        return Missing(url, Absence.UNUSABLE)
    spelt = quote(url, safe="")
    if len(spelt) > _LONGEST_QUERY and wait <= 0:
        return (yield from lookup_some([url]))[0]
    began = clock()
    until = began + wait
    pause = 0.0
    found: UrlRecord | Missing | None = None
    while True:
        now = min(until - began - pause, _LONGEST_WAIT)
        waiting = f"&wait={now:.3f}s" if now > 0 else ""
        call = Call("GET", f"/v1/urls?url={spelt}{waiting}", after=pause, within=max(now, 0.0))
        later = 0.0
        try:
            found = _record(url, (yield call))
        except ClientError as error:
            later = max(_SHORTEST_WAIT, error.problem.retry_after or 0.0)
            if found is None or not error.is_transient or until - clock() < later:
                raise
        else:
            if isinstance(found, UrlRecord) or found.state is Absence.UNUSABLE or until - clock() < _MOMENT:
                return found
        ended = clock()
        pause = min(until - ended, max(later, began + pause + _SHORTEST_WAIT - ended, 0.0))
        began = ended


def _record(url: str, answer: Answer) -> UrlRecord | Missing:
    if answer.status == 202:
        return Missing(url, Absence.PENDING)
    if answer.status in (404, 422):
        problem = problem_of(answer)
        if problem.type.endswith(":unknown-url"):
            return Missing(url, Absence.UNKNOWN)
        if problem.status == 422 and problem.where == "?url":
            return Missing(url, Absence.UNUSABLE)
    return read(answer, UrlRecord)


def lookup_some(urls: Sequence[str]) -> Steps[list[UrlRecord | Missing]]:
    """Look up to 300 URLs up; return what is known of each, in their order."""
    asked = [url for url in urls if _is_usable(url)]
    if not asked:
        return [Missing(url, Absence.UNUSABLE) for url in urls]
    answer = yield Call("POST", "/v1/urls/lookup", msgspec.json.encode({"urls": asked}))
    results = read(answer, _Found).results
    if len(results) != len(asked):
        raise not_understood("/v1/urls/lookup", f"{len(results)} results for {len(asked)} URLs")
    found = iter(results)
    return [_either(next(found)) if _is_usable(url) else Missing(url, Absence.UNUSABLE) for url in urls]


def _either(raw: msgspec.Raw) -> UrlRecord | Missing:
    try:
        return msgspec.json.decode(raw, type=UrlRecord)
    except msgspec.ValidationError:
        return _decoded(bytes(raw), Missing)


def chunks(urls: Iterable[str], most: int = MOST_URLS, most_bytes: int = MOST_BYTES) -> Iterable[list[str]]:
    """Yield URLs in groups that fit into one lookup each."""
    group: list[str] = []
    size = 0
    for url in urls:
        length = 4 * len(url) + 3
        if group and (len(group) >= most or size + length > most_bytes):
            yield group
            group, size = [], 0
        group.append(url)
        size += length
    if group:
        yield group


def fetch(url: str, hops: int, body: BodyForm, most: int | None, priority: Urgency) -> Steps[FetchAnswer]:
    order: dict[str, Any] = {"url": _sound(url), "hops": hops, "body": body, "priority": priority}
    if most is not None:
        order["most"] = most
    answer = yield Call("POST", "/v1/fetch", msgspec.json.encode(order), within=_FETCH_WITHIN)
    return read(answer, FetchAnswer)


def stats() -> Steps[Statistics]:
    return read((yield Call("GET", "/v1/stats")), Statistics)


def domain(name: str) -> Steps[DomainRule]:
    return read((yield Call("GET", _domain(name))), DomainRule)


def set_domain(rule: DomainRule) -> Steps[DomainRule]:
    told = msgspec.structs.asdict(rule)
    del told["domain"]
    told["note"] = _sound(rule.note)
    answer = yield Call("PUT", _domain(rule.domain), msgspec.json.encode(told))
    return read(answer, DomainRule)


def keys() -> Steps[list[ApiKey]]:
    return read((yield Call("GET", "/v1/keys")), _Keys).keys


def make_key(name: str, scopes: Iterable[KeyScope], rate: float | None) -> Steps[NewKey]:
    if isinstance(scopes, str):
        raise UsageError("scopes is one text, not a list of scopes", hint=f"Write scopes=[{scopes!r}].")
    order = {"name": _sound(name), "scopes": list(scopes), "rate": rate}
    answer = yield Call("POST", "/v1/keys", msgspec.json.encode(order), once=True)
    return read(answer, NewKey)


def revoke_key(identity: str) -> Steps[ApiKey]:
    return read((yield Call("DELETE", f"/v1/keys/{quote(_sound(identity), safe='')}", once=True)), ApiKey)


def read(answer: Answer, kind: type[T]) -> T:
    """Return what an answer says; raise what it refuses with."""
    if not 200 <= answer.status < 300:
        raise ClientError(problem_of(answer))
    return _decoded(answer.body, kind)


def problem_of(answer: Answer) -> Problem:
    """Return what is wrong, in the service's words or, where a proxy answered, in those of HTTP."""
    problem = Problem(status=answer.status)
    if answer.headers.get("content-type", "").startswith("application/problem+json"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):  # what the status says is true all the same
            problem = msgspec.json.decode(answer.body, type=Problem, strict=False)
            problem = msgspec.structs.replace(problem, status=answer.status)
    later = answer.headers.get("retry-after", "")
    if problem.retry_after is None and later.isascii() and later.isdigit():
        problem = msgspec.structs.replace(problem, retry_after=float(later[:9]))
    return problem


def _decoded(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise not_understood("", str(error)[:_SHOWN]) from None


def _domain(name: str) -> str:
    return f"/v1/domains/{quote(_sound(name), safe='')}"


def _is_usable(url: str) -> bool:
    return 0 < len(url) <= LONGEST_URL and _sound(url) == url


def _sound(text: str) -> str:
    """Return a text without the half characters that an undecodable command line leaves."""
    return text.encode("utf-8", "replace").decode()
