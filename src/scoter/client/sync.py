"""The client that blocks."""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Self, TypeVar

from scoter.client import calls
from scoter.client.calls import Answer, Call, Steps
from scoter.client.errors import ClientError, Unreachable, not_understood, reason
from scoter.client.listening import SILENCE, Listening, ended
from scoter.client.loading import BATCH, PATIENCE, Loading
from scoter.client.place import DEFAULT_URL, Place, fields, place
from scoter.client.records import (
    ApiKey,
    BodyForm,
    DomainRule,
    FetchAnswer,
    Gap,
    KeyScope,
    Missing,
    NewKey,
    Receipt,
    Statistics,
    Submission,
    Urgency,
)
from scoter.core.display import size
from scoter.live.records import Event, UrlRecord

LARGEST_ANSWER: Final = 64 * 2**20
_PIECE: Final = 64 * 1024
_STALE: Final = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, http.client.CannotSendRequest)
T = TypeVar("T")


class Client:
    """Speaks to a live service over one connection that is kept open; events come over one of their own.

    Not for several threads at once. ``timeout`` is how many seconds the service may be silent.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str = "",
        timeout: float = 30.0,
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._place = place(url)
        self._fields = fields(key)
        self._timeout = timeout
        self._pause = pause
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({str(self._place)!r})"

    def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def submit(
        self,
        text: str = "",
        *,
        urls: Iterable[str] = (),
        id: str = "",  # noqa: A002  the API's own name
        priority: Urgency = "normal",
        force: bool = False,
        callback: str = "",
    ) -> Receipt:
        """Submit a text with links in it, or URLs; return when it is accepted for good."""
        message = calls.submission(text, urls=urls, id=id, priority=priority, force=force, callback=callback)
        return self._run(calls.submit(message))

    def submit_many(
        self, messages: Iterable[Submission | str], *, batch: int = BATCH, patience: float = PATIENCE
    ) -> Iterator[Receipt]:
        """Submit messages in batches, as fast as they are taken; yield what became of each, as it is known.

        A message that finds no room is sent again, for ``patience`` seconds at most; see ``Loading``.
        """
        loading = Loading(batch=batch, patience=patience)
        for message in messages:
            loading.add(message)
            while loading.is_full:
                yield from self._run(loading.send())
        while len(loading):
            yield from self._run(loading.send())

    def lookup(self, url: str, wait: float = 0.0) -> UrlRecord | Missing:
        """Return what is known of a URL; wait so many seconds until something is."""
        return self._run(calls.lookup(url, wait))

    def lookup_many(self, urls: Iterable[str]) -> Iterator[UrlRecord | Missing]:
        """Yield what is known of URLs, in their order."""
        for group in calls.chunks(urls):
            yield from self._run(calls.lookup_some(group))

    def fetch(
        self,
        url: str,
        *,
        hops: int = 0,
        body: BodyForm = "inline",
        most: int | None = None,
        priority: Urgency = "person",
    ) -> FetchAnswer:
        """Have a URL fetched now, in its domain's turn; ``most`` bytes of its body are answered at most."""
        return self._run(calls.fetch(url, hops, body, most, priority))

    def stats(self) -> Statistics:
        """Return the service in figures."""
        return self._run(calls.stats())

    def domain(self, name: str) -> DomainRule:
        """Return what was set for a domain."""
        return self._run(calls.domain(name))

    def set_domain(
        self,
        name: str,
        *,
        delay: float | None = None,
        concurrency: int | None = None,
        blocked: bool = False,
        note: str = "",
    ) -> DomainRule:
        """Set what shall hold for a domain, in the place of what was set before; what is left out is as configured."""
        rule = DomainRule(domain=name, delay=delay, concurrency=concurrency, blocked=blocked, note=note)
        return self._run(calls.set_domain(rule))

    def keys(self) -> list[ApiKey]:
        """Return every API key of the service; this and the next two need one with the scope admin."""
        return self._run(calls.keys())

    def make_key(self, name: str, scopes: Iterable[KeyScope], *, rate: float | None = None) -> NewKey:
        """Make an API key; ``rate`` is in requests a second. Its token is told this once."""
        return self._run(calls.make_key(name, scopes, rate))

    def revoke_key(self, id: str) -> ApiKey:  # noqa: A002  the API's own name
        """Revoke an API key: from now on it lets nobody in."""
        return self._run(calls.revoke_key(id))

    def events(
        self,
        since: int | None = None,
        *,
        patience: float = float("inf"),
        on_open: Callable[[], None] = lambda: None,
        on_lost: Callable[[ClientError, float], None] = lambda error, pause: None,
    ) -> Iterator[Event | Gap]:
        """Yield events after a number, or those to come, without end; a lost connection is opened again.

        Whatever is announced after ``on_open`` was called comes. ``on_lost`` is told why a connection was lost and in
        how many seconds the next is tried; after ``patience`` seconds in a row without one the error is raised. A
        ``Gap`` stands where events are no longer kept.
        """
        listening = Listening(since, patience)
        while True:
            is_open = False
            try:
                for chunk in self._stream(listening):
                    found = listening.feed(chunk)
                    if not is_open:  # where the stream begins is settled before the first byte comes
                        is_open = True
                        on_open()
                    yield from found
                error: ClientError = ended(str(self._place))
            except ClientError as raised:
                error = raised
            pause = listening.lost(error)
            on_lost(error, pause)
            self._pause(pause)

    def _stream(self, listening: Listening) -> Iterator[bytes]:
        connection = _connection(self._place, max(self._timeout, SILENCE))
        try:
            connection.request(
                "GET", self._place.prefix + listening.target, headers={**self._fields, **listening.headers}
            )
            response = connection.getresponse()
            kind = response.getheader("content-type", "")
            if response.status != 200 or not kind.startswith("text/event-stream"):
                raise listening.refused(_answer(response))
            listening.opened()
            while chunk := response.read1(_PIECE):
                yield chunk
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def _run(self, steps: Steps[T]) -> T:
        try:
            call = next(steps)
            while True:
                if call.after > 0:
                    self._pause(call.after)
                try:
                    answer = self._send(call)
                except Unreachable as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result

    def _send(self, call: Call) -> Answer:
        if call.once:
            self.close()  # on a new connection nobody needs to guess whether the request arrived
        is_reused = self._connection is not None
        try:
            return self._exchange(call)
        except _STALE as error:
            # The service closes a connection that was idle for long; every call may be repeated without harm.
            if not is_reused:
                raise self._unreachable(error) from error
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        try:
            return self._exchange(call)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error

    def _exchange(self, call: Call) -> Answer:
        if self._connection is None:
            self._connection = _connection(self._place, self._timeout)
        connection, is_whole = self._connection, False
        try:
            connection.timeout = self._timeout + call.within
            if connection.sock is not None:
                connection.sock.settimeout(connection.timeout)
            headers = dict(self._fields)
            if call.body is not None:
                headers["Content-Type"] = "application/json"
            connection.request(call.method, self._place.prefix + call.target, call.body, headers)
            response = connection.getresponse()
            answer = _answer(response)
            is_whole = not response.will_close
            return answer
        finally:
            if not is_whole:
                self.close()

    def _unreachable(self, error: Exception) -> Unreachable:
        if isinstance(error, TimeoutError):
            return Unreachable(str(self._place), "nothing came in time")
        return Unreachable(str(self._place), reason(error))


def _connection(where: Place, timeout: float) -> http.client.HTTPConnection:
    if where.scheme == "https":
        return http.client.HTTPSConnection(
            where.host, where.port, timeout=timeout, context=ssl.create_default_context()
        )
    return http.client.HTTPConnection(where.host, where.port, timeout=timeout)


def _answer(response: http.client.HTTPResponse) -> Answer:
    has_length = response.chunked or response.length is not None
    body = response.read(LARGEST_ANSWER + 1)
    if not has_length and not body:  # a head that broke off is taken for a short one
        raise http.client.IncompleteRead(body)
    if response.length and len(body) <= LARGEST_ANSWER:  # read() with a number is silent about an early end
        raise http.client.IncompleteRead(body, response.length)
    if len(body) > LARGEST_ANSWER:
        raise not_understood("", f"more than {size(LARGEST_ANSWER)}")
    headers: Mapping[str, str] = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, body)
