"""The blocking client."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from scoter.client import calls
from scoter.client.address import DEFAULT_URL, ServiceAddress, parse_address, request_headers
from scoter.client.calls import ApiAnswer, ApiCall, Steps, documented
from scoter.client.errors import ClientError, Unreachable, failure_reason, not_understood
from scoter.client.events import SILENCE, STREAM_ENDED, EventSubscription
from scoter.client.submissions import BATCH, PATIENCE, SubmissionBatcher
from scoter.core.display import size
from scoter.http.records import Gap
from scoter.live.api.records import Receipt, Submission
from scoter.live.records import Event

LARGEST_ANSWER: Final = 64 * 2**20
_CHUNK: Final = 64 * 1024
_STALE: Final = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, http.client.CannotSendRequest)
P = ParamSpec("P")
T = TypeVar("T")


class BlockingCaller:
    """Makes calls over one persistent connection; an event stream has its own.

    Not thread-safe. ``timeout`` is how many seconds the service may stay silent.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str = "",
        timeout: float = 30.0,
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._address = parse_address(url)
        self._headers = request_headers(key)
        self._timeout = timeout
        self._pause = pause
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._address)!r})"

    def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def follow(
        self,
        subscription: EventSubscription,
        on_open: Callable[[], None] = lambda: None,
        on_lost: Callable[[ClientError, float], None] = lambda error, pause: None,
    ) -> Iterator[Any]:
        """Yield the events of a subscription without end; reconnect when the connection is lost."""
        while True:
            is_open = False
            try:
                for chunk in self._stream(subscription):
                    found = subscription.feed(chunk)
                    if not is_open:  # the service fixes the start of the stream before it sends the first byte
                        is_open = True
                        on_open()
                    yield from found
                error: ClientError = Unreachable(str(self._address), STREAM_ENDED)
            except ClientError as raised:
                error = raised
            pause = subscription.lost(error)
            on_lost(error, pause)
            self._pause(pause)

    def _stream(self, subscription: EventSubscription) -> Iterator[bytes]:
        connection = _connection(self._address, max(self._timeout, SILENCE))
        try:
            connection.request(
                "GET", self._address.prefix + subscription.target, headers={**self._headers, **subscription.headers}
            )
            response = connection.getresponse()
            kind = response.getheader("content-type", "")
            if response.status != 200 or not kind.startswith("text/event-stream"):
                raise subscription.refused(_answer(response))
            subscription.opened()
            while chunk := response.read1(_CHUNK):
                yield chunk
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def run(self, steps: Steps[T]) -> T:
        """Make the calls of a generator (``scoter.client.calls``), and return its result."""
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

    def _send(self, call: ApiCall) -> ApiAnswer:
        if call.once:
            self.close()  # on a new connection there is no doubt whether the request arrived
        while True:
            is_reused = self._connection is not None
            try:
                return self._exchange(call)
            except (OSError, http.client.HTTPException) as error:
                # The service closes idle connections; every call here is safe to repeat.
                if not is_reused or not isinstance(error, _STALE):
                    raise self._unreachable(error) from error

    def _exchange(self, call: ApiCall) -> ApiAnswer:
        if self._connection is None:
            self._connection = _connection(self._address, self._timeout)
        connection, is_complete = self._connection, False
        try:
            connection.timeout = self._timeout + call.within
            if connection.sock is not None:
                connection.sock.settimeout(connection.timeout)
            headers = {**self._headers, **call.headers}
            if call.body is not None:
                headers["Content-Type"] = "application/json"
            connection.request(call.method, self._address.prefix + call.target, call.body, headers)
            response = connection.getresponse()
            answer = _answer(response)
            is_complete = not response.will_close
            return answer
        finally:
            if not is_complete:
                self.close()

    def _unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(str(self._address), failure_reason(error))


def _connection(where: ServiceAddress, timeout: float) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
    return kind(where.host, where.port, timeout=timeout)


def _answer(response: http.client.HTTPResponse) -> ApiAnswer:
    has_length = response.chunked or response.length is not None
    body = response.read(LARGEST_ANSWER + 1)
    if not has_length and not body:  # http.client accepts a truncated head as complete
        raise http.client.IncompleteRead(body)
    if response.length and len(body) <= LARGEST_ANSWER:  # read(n) does not report an early end
        raise http.client.IncompleteRead(body, response.length)
    if len(body) > LARGEST_ANSWER:
        raise not_understood("", f"more than {size(LARGEST_ANSWER)}")
    headers: Mapping[str, str] = {name.lower(): value for name, value in response.getheaders()}
    return ApiAnswer(response.status, headers, body)


def blocking(call: Callable[P, Steps[T]]) -> Callable[Concatenate[BlockingCaller, P], T]:
    """Return the method that makes a call and returns its result."""

    def method(self: BlockingCaller, /, *arguments: P.args, **options: P.kwargs) -> T:
        return self.run(call(*arguments, **options))

    return documented(method, call)


def blocking_rows(call: Callable[P, Iterator[Steps[list[T]]]]) -> Callable[Concatenate[BlockingCaller, P], Iterator[T]]:
    """Return the method that makes one call after another and yields the rows of their results."""

    def method(self: BlockingCaller, /, *arguments: P.args, **options: P.kwargs) -> Iterator[T]:
        for steps in call(*arguments, **options):
            yield from self.run(steps)

    return documented(method, call, "Iterator[Steps[list[{}]]]", "Iterator[{}]")


class Client(BlockingCaller):
    """Talks to a live service over one persistent connection; an event stream has its own.

    Not thread-safe. ``timeout`` is how many seconds the service may stay silent.
    """

    submit = blocking(calls.submit)
    lookup = blocking(calls.lookup)
    lookup_many = blocking_rows(calls.lookup_many)
    preview = blocking(calls.preview)
    fetch = blocking(calls.fetch)
    stats = blocking(calls.stats)
    domain = blocking(calls.domain)
    set_domain = blocking(calls.set_domain)
    keys = blocking(calls.keys)
    make_key = blocking(calls.make_key)
    revoke_key = blocking(calls.revoke_key)

    def submit_many(
        self, messages: Iterable[Submission | str], *, batch: int = BATCH, patience: float = PATIENCE
    ) -> Iterator[Receipt]:
        """Submit messages in batches, as fast as the service accepts them; yield their receipts as they are known.

        A refused message is retried for ``patience`` seconds at most; see ``SubmissionBatcher``.
        """
        batcher = SubmissionBatcher(batch=batch, patience=patience)
        for message in messages:
            batcher.add(message)
            while batcher.is_full:
                yield from self.run(batcher.send())
        while len(batcher):
            yield from self.run(batcher.send())

    def events(
        self,
        since: int | None = None,
        *,
        patience: float = float("inf"),
        on_open: Callable[[], None] = lambda: None,
        on_lost: Callable[[ClientError, float], None] = lambda error, pause: None,
    ) -> Iterator[Event | Gap]:
        """Yield events after a number, or new ones, without end; reconnect when the connection is lost.

        Every event announced after ``on_open`` is called arrives. ``on_lost`` receives the error and the seconds until
        the next attempt; after ``patience`` seconds in a row without a connection the error is raised. A ``Gap`` marks
        events that are no longer kept.
        """
        yield from self.follow(EventSubscription(since, patience), on_open, on_lost)
