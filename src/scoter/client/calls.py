"""The calls of the API and how their answers are read, without a socket.

Each function is a generator that yields calls, receives their answers, and returns the result; ``Unreachable`` is
thrown into it if a call fails. Those with defaults are the methods of ``Client`` and ``AsyncClient``: both run the same
generators.
"""

from __future__ import annotations

import inspect
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import update_wrapper
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from scoter.client.errors import ClientError, local_problem, not_understood
from scoter.errors import UsageError
from scoter.http.records import LONGEST_URL, KeyInfo, KeyList, KeyScope, NewKey, Problem
from scoter.live.api.records import (
    MAX_URLS,
    MAX_WAIT,
    Absence,
    BodyForm,
    DomainRule,
    FetchAnswer,
    Missing,
    Receipt,
    Receipts,
    Statistics,
    Submission,
    Urgency,
)
from scoter.live.records import Preview, UrlRecord

MAX_BYTES: Final = 900_000  # the service accepts bodies of 1 MiB
_LONGEST_QUERY: Final = 8_000  # the head of a request may have 32 KiB
_SHORTEST_WAIT: Final = 1.0  # between two calls to a service that answers at once
_NEGLIGIBLE_WAIT: Final = 0.05  # not worth another call
_FETCH_TIMEOUT: Final = 60.0
_LONGEST_DETAIL: Final = 200

T = TypeVar("T")


class ApiCall(Struct, frozen=True):
    """One request, to be made ``after`` a number of seconds; ``within`` extends the client's timeout.

    It is safe to repeat unless ``once`` is set. ``accept`` is the media type asked for, JSON by default.
    """

    method: str
    target: str
    body: bytes | None = None
    after: float = 0.0
    within: float = 0.0
    once: bool = False
    accept: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of this call, besides those of every request."""
        return {"Accept": self.accept} if self.accept else {}


class ApiAnswer(Struct, frozen=True):
    """An HTTP response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Steps: TypeAlias = Generator[ApiCall, ApiAnswer, T]
M = TypeVar("M", bound=Callable[..., Any])


def documented(method: M, call: Callable[..., Any], returns: str = "Steps[{}]", instead: str = "{}") -> M:
    """Give a method that runs a call the name, docstring and parameters of the call, and its result as annotation."""
    signature = inspect.signature(call)
    before, after = returns.split("{}")
    result = str(signature.return_annotation).removeprefix(before).removesuffix(after)
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    update_wrapper(method, call)
    del method.__wrapped__  # type: ignore[attr-defined]
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[this, *signature.parameters.values()], return_annotation=instead.format(result)
    )
    return method


class _LookupResults(Struct, frozen=True):
    results: list[msgspec.Raw]


def with_id(message: Submission | str) -> Submission:
    """Return a message with an ID, generated if it has none, and without text that JSON cannot represent."""
    found = Submission(text=message) if isinstance(message, str) else message
    return msgspec.structs.replace(
        found,
        id=_encodable(found.id or "") or uuid.uuid4().hex,
        text=_encodable(found.text),
        urls=tuple(map(_encodable, found.urls)),
        callback=_encodable(found.callback),
    )


def submit(
    text: str = "",
    *,
    urls: Iterable[str] = (),
    id: str = "",  # noqa: A002  the API's own name
    priority: Urgency = "normal",
    force: bool = False,
    callback: str = "",
) -> Steps[Receipt]:
    """Submit text that contains links, or URLs; return when the service has durably accepted it."""
    if isinstance(urls, str):
        raise UsageError("urls is a string, not a list of URLs", hint=f"Write urls=[{urls!r}].")
    message = Submission(id=id, text=text, urls=tuple(urls), priority=priority, force=force, callback=callback)
    return (yield from submit_batch([with_id(message)]))[0]


def submit_batch(messages: Sequence[Submission], after: float = 0.0) -> Steps[list[Receipt]]:
    """Submit messages in one request; return their receipts in the same order."""
    body = msgspec.json.encode(messages if len(messages) != 1 else messages[0])
    answer = yield ApiCall("POST", "/v1/messages", body, after)
    receipts = read_answer(answer, Receipts).messages
    if len(receipts) != len(messages):
        raise not_understood("/v1/messages", f"{len(receipts)} receipts for {len(messages)} messages")
    return receipts


def lookup(url: str, wait: float = 0.0) -> Steps[UrlRecord | Missing]:
    """Return the record of a URL; wait up to ``wait`` seconds for it."""
    return lookup_by(time.monotonic, url, wait)


def lookup_by(clock: Callable[[], float], url: str, wait: float) -> Steps[UrlRecord | Missing]:
    """Look up one URL. The service waits for 30 s at most, so a longer wait takes several calls.

    A service that did not wait is asked again after a second, and so is one that answered before and cannot now: it may
    be restarting.
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
        now = min(until - began - pause, MAX_WAIT)
        waiting = f"&wait={now:.3f}s" if now > 0 else ""
        call = ApiCall("GET", f"/v1/urls?url={spelt}{waiting}", after=pause, within=max(now, 0.0))
        later = 0.0
        try:
            found = _record(url, (yield call))
        except ClientError as error:
            later = max(_SHORTEST_WAIT, error.problem.retry_after or 0.0)
            if found is None or not error.is_transient or until - clock() < later:
                raise
        else:
            is_final = isinstance(found, UrlRecord) or found.state is not Absence.PENDING
            if is_final or until - clock() < _NEGLIGIBLE_WAIT:
                return found
        ended = clock()
        pause = min(until - ended, max(later, began + pause + _SHORTEST_WAIT - ended, 0.0))
        began = ended


def preview(
    url: str, wait: float = 10.0, *, priority: Urgency = "person", oembed: bool = False
) -> Steps[Preview | Missing]:
    """Return the record of a URL; submit it if necessary, and wait up to ``wait`` seconds (30 at most) for it.

    With ``oembed``, the page's oEmbed endpoint is asked as well.
    """
    if not _is_usable(url):
        return Missing(url, Absence.UNUSABLE)
    wait = min(max(wait, 0.0), MAX_WAIT)
    more = "&oembed=true" if oembed else ""
    target = f"/v1/preview?url={quote(url, safe='')}&wait={wait:.3f}s&priority={priority}{more}"
    answer = yield ApiCall("GET", target, within=wait + (_FETCH_TIMEOUT if oembed else 0.0))
    return Missing(url, Absence.PENDING) if answer.status == 202 else read_answer(answer, Preview)


def _record(url: str, answer: ApiAnswer) -> UrlRecord | Missing:
    if answer.status == 202:
        return Missing(url, Absence.PENDING)
    if answer.status in (404, 422):
        problem = problem_of(answer)
        if problem.type.endswith(":unknown-url"):
            return Missing(url, Absence.UNKNOWN)
        if problem.status == 422 and problem.where == "?url":
            return Missing(url, Absence.UNUSABLE)
    return read_answer(answer, UrlRecord)


def lookup_many(urls: Iterable[str]) -> Iterator[Steps[list[UrlRecord | Missing]]]:
    """Yield one result per URL, in the order given."""
    return map(lookup_some, chunks(urls))


def lookup_some(urls: Sequence[str]) -> Steps[list[UrlRecord | Missing]]:
    """Look up at most 300 URLs; return one result per URL, in the order given."""
    asked = [url for url in urls if _is_usable(url)]
    if not asked:
        return [Missing(url, Absence.UNUSABLE) for url in urls]
    answer = yield ApiCall("POST", "/v1/urls/lookup", msgspec.json.encode({"urls": asked}))
    results = read_answer(answer, _LookupResults).results
    if len(results) != len(asked):
        raise not_understood("/v1/urls/lookup", f"{len(results)} results for {len(asked)} URLs")
    found = iter(results)
    return [_either(next(found)) if _is_usable(url) else Missing(url, Absence.UNUSABLE) for url in urls]


def _either(raw: msgspec.Raw) -> UrlRecord | Missing:
    try:
        return msgspec.json.decode(raw, type=UrlRecord)
    except msgspec.ValidationError:
        return decoded(bytes(raw), Missing)


def chunks(urls: Iterable[str], most: int = MAX_URLS) -> Iterable[list[str]]:
    """Split URLs into groups that fit into one lookup."""
    group: list[str] = []
    size = 0
    for url in urls:
        length = 4 * len(url) + 3
        if group and (len(group) >= most or size + length > MAX_BYTES):
            yield group
            group, size = [], 0
        group.append(url)
        size += length
    if group:
        yield group


def fetch(
    url: str,
    *,
    hops: int = 0,
    body: BodyForm = "inline",
    most: int | None = None,
    priority: Urgency = "person",
) -> Steps[FetchAnswer]:
    """Fetch a URL now, within its domain's rate limit; return at most ``most`` bytes of the body."""
    order: dict[str, Any] = {"url": _encodable(url), "hops": hops, "body": body, "priority": priority}
    if most is not None:
        order["most"] = most
    answer = yield ApiCall("POST", "/v1/fetch", msgspec.json.encode(order), within=_FETCH_TIMEOUT)
    return read_answer(answer, FetchAnswer)


def stats() -> Steps[Statistics]:
    """Return statistics of the service."""
    return read_answer((yield ApiCall("GET", "/v1/stats")), Statistics)


def domain(name: str) -> Steps[DomainRule]:
    """Return the rule of a domain."""
    return read_answer((yield ApiCall("GET", _domain(name))), DomainRule)


def set_domain(
    name: str,
    *,
    delay: float | None = None,
    concurrency: int | None = None,
    blocked: bool = False,
    note: str = "",
) -> Steps[DomainRule]:
    """Replace the rule of a domain; omitted fields fall back to the configuration."""
    change = {"delay": delay, "concurrency": concurrency, "blocked": blocked, "note": _encodable(note)}
    answer = yield ApiCall("PUT", _domain(name), msgspec.json.encode(change))
    return read_answer(answer, DomainRule)


def keys() -> Steps[list[KeyInfo]]:
    """Return all API keys of the service; this and the next two methods require the scope admin."""
    return read_answer((yield ApiCall("GET", "/v1/keys")), KeyList).keys


def make_key(name: str, scopes: Iterable[KeyScope], *, rate: float | None = None, tenant: str = "") -> Steps[NewKey]:
    """Create an API key; ``rate`` is in requests per second. Its token is shown only once."""
    if isinstance(scopes, str):
        raise UsageError("scopes is a string, not a list of scopes", hint=f"Write scopes=[{scopes!r}].")
    order: dict[str, Any] = {"name": _encodable(name), "scopes": list(scopes), "rate": rate}
    if tenant:  # an older service knows no tenants
        order["tenant"] = _encodable(tenant)
    answer = yield ApiCall("POST", "/v1/keys", msgspec.json.encode(order), once=True)
    return read_answer(answer, NewKey)


def revoke_key(id: str) -> Steps[KeyInfo]:  # noqa: A002  the API's own name
    """Revoke an API key at once."""
    target = f"/v1/keys/{quote(_encodable(id), safe='')}"
    return read_answer((yield ApiCall("DELETE", target, once=True)), KeyInfo)


def read_answer(answer: ApiAnswer, kind: type[T]) -> T:
    """Return the content of an answer; raise ``ClientError`` if it is a refusal."""
    if not 200 <= answer.status < 300:
        raise ClientError(problem_of(answer))
    return decoded(answer.body, kind)


def problem_of(answer: ApiAnswer) -> Problem:
    """Return what is wrong, as the service describes it, or by the HTTP status if a proxy answered."""
    problem = local_problem(status=answer.status)
    if answer.headers.get("content-type", "").startswith("application/problem+json"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):  # the status is still valid
            said = msgspec.json.decode(answer.body, type=dict[str, Any])
            said = {**msgspec.structs.asdict(problem), **said, "status": answer.status}
            problem = msgspec.convert(said, Problem, strict=False)
    later = answer.headers.get("retry-after", "")
    if problem.retry_after is None and later.isascii() and later.isdigit():
        problem = msgspec.structs.replace(problem, retry_after=float(later[:9]))
    return problem


def decoded(body: bytes, kind: type[T], where: str = "") -> T:
    """Decode JSON from the service; fields that a newer service adds are ignored."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise not_understood(where, str(error)[:_LONGEST_DETAIL]) from None


def _domain(name: str) -> str:
    return f"/v1/domains/{quote(_encodable(name), safe='')}"


def _is_usable(url: str) -> bool:
    return 0 < len(url) <= LONGEST_URL and _encodable(url) == url


def _encodable(text: str) -> str:
    """Return text without the lone surrogates that an undecodable command line leaves."""
    return text.encode("utf-8", "replace").decode()
