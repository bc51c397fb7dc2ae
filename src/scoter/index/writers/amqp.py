"""Publishing messages to RabbitMQ with confirms.

Messages of a batch are sent together, and the batch is done when the server has confirmed each: so a batch costs one
wait for the server's disk instead of one per message.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from scoter.config import Setting
from scoter.errors import ConfigError, UserError
from scoter.index.writers.connection import reason_of

_NOT_FOUND: Final = 404
_REFUSED: Final = "the queue does not accept the message; it may be full"


class RabbitmqSettings(Struct, frozen=True):
    """The server, how to log in, and where messages go."""

    url: Annotated[str, Setting("Address of the server and virtual host; amqps:// for TLS.")] = "amqp://localhost:5672/"
    username: Annotated[str, Setting("User name.")] = "guest"
    password: Annotated[str, Setting("Password; better set it with an environment variable.", secret=True)] = "guest"  # noqa: S105 - RabbitMQ's default
    ca_file: Annotated[Path | None, Setting("Certificate authorities to trust, in PEM format.")] = None
    exchange: Annotated[str, Setting("Exchange to publish to; empty means the default exchange.")] = ""
    queue: Annotated[
        str, Setting("Queue, which is created durable if it does not exist; empty means that the exchange knows.")
    ] = "scoter-documents"
    routing_key: Annotated[str, Setting("Routing key; empty means the name of the queue.")] = ""
    bind: Annotated[bool, Setting("Create the exchange, direct and durable, and bind the queue to it.")] = False
    headers: Annotated[
        tuple[str, ...], Setting("Headers of every message, as name=value.", example='["source=crawl"]')
    ] = ()
    retries: Annotated[
        int, Setting("How often to connect again when a connection breaks.", at_least=0, at_most=100)
    ] = 6
    timeout: Annotated[timedelta, Setting("Maximum time until a message is stored.", at_least=timedelta(seconds=1))] = (
        timedelta(minutes=1)
    )


class AmqpRoute(Struct, frozen=True):
    """Where messages go, and the headers they have."""

    exchange: str
    queue: str
    routing_key: str
    bind: bool = False
    headers: Mapping[str, str] = {}


class AmqpFailure(Exception):
    """The connection broke or could not be opened.

    ``is_final``: trying again would not help. ``is_unknown``: there is no such queue.
    """

    def __init__(self, reason: str, *, is_final: bool = False, is_unknown: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final
        self.is_unknown = is_unknown


class AmqpPublisher:
    """Publishes messages over one connection, which ``publish`` opens if necessary.

    ``parameters`` are pika's. A message must be confirmed within ``seconds``. Errors name the plug-in ``owner``.
    """

    def __init__(self, parameters: Any, route: AmqpRoute, seconds: float, owner: str) -> None:
        self.parameters = parameters
        self._owner = owner
        self._route = route
        self._seconds = seconds
        self._loop: Any = None
        self._connection: Any = None
        self._channel: Any = None
        self._failure: BaseException | None = None
        self._waiting: dict[int, int] = {}
        self._next_tag = 1
        self._problems: dict[int, str] = {}
        self._unrouted = False

    @classmethod
    def of(cls, settings: RabbitmqSettings, owner: str) -> AmqpPublisher:
        """Return a publisher for the settings of a plug-in; they are checked, but nothing is connected yet."""
        route = AmqpRoute(
            settings.exchange,
            settings.queue,
            settings.routing_key or settings.queue,
            settings.bind,
            dict(_header(each, owner) for each in settings.headers),
        )
        return cls(_parameters(settings, owner), route, settings.timeout.total_seconds(), owner)

    def open(self) -> None:
        """Connect, and create the queue if it does not exist."""
        import pika
        from pika.adapters.select_connection import IOLoop

        self.close()
        self._failure = None
        self._loop = IOLoop()
        self._connection = pika.SelectConnection(
            self.parameters,
            on_open_error_callback=self._failed,
            on_close_callback=self._failed,
            custom_ioloop=self._loop,
        )
        self._run_until(lambda: self._connection.is_open)
        self._open_channel()
        self._prepare()
        self._channel.add_on_return_callback(self._returned)
        self._channel.confirm_delivery(self._confirmed)
        self._next_tag = 1

    def publish(self, messages: Sequence[bytes]) -> dict[int, str]:
        """Send messages and wait until each is stored; return the numbers of those that the queue refused, and why."""
        import pika

        if self._channel is None:
            self.open()
        self._problems, self._unrouted = {}, False
        self._waiting = {}
        properties = pika.BasicProperties(
            delivery_mode=2, content_type="application/json", headers=dict(self._route.headers)
        )
        try:
            for number, message in enumerate(messages):
                self._channel.basic_publish(
                    self._route.exchange, self._route.routing_key, message, properties, mandatory=True
                )
                self._waiting[self._next_tag] = number
                self._next_tag += 1
        except pika.exceptions.AMQPError as failure:  # the connection was closed while nobody looked
            self._channel = None
            raise _failure_of(failure) from failure
        try:
            self._run_until(lambda: not self._waiting)
        except AmqpFailure:
            self._channel = None
            raise
        if self._unrouted:
            hint = f"See exchange, queue and routing_key in [plugin.{self._owner}]."
            where = f"{self.parameters.host}:{self.parameters.port}"
            raise UserError("no queue gets the messages", where=where, hint=hint)
        return self._problems

    def close(self) -> None:
        """Close the connection."""
        connection, loop = self._connection, self._loop
        self._connection = self._channel = self._loop = None
        if loop is None:
            return
        if connection.is_open:
            connection.close()
            self._spin(loop, lambda: bool(connection.is_closed))
        loop.process_timeouts()  # where pika closes its socket
        loop.close()

    def _open_channel(self) -> None:
        self._channel = None
        opened: list[Any] = []
        channel = self._connection.channel(on_open_callback=opened.append)
        channel.add_on_close_callback(self._failed)
        self._run_until(lambda: bool(opened))
        self._channel = channel

    def _prepare(self) -> None:
        """Create what is missing."""
        route = self._route
        if route.queue:
            try:
                self._asked("queue_declare", queue=route.queue, passive=True)
            except AmqpFailure as failure:
                if not failure.is_unknown:
                    raise
                self._failure = None
                self._open_channel()
                self._asked("queue_declare", queue=route.queue, durable=True)
        if route.exchange and route.bind:
            self._asked("exchange_declare", exchange=route.exchange, exchange_type="direct", durable=True)
            self._asked("queue_bind", queue=route.queue, exchange=route.exchange, routing_key=route.routing_key)
        elif route.exchange:
            self._asked("exchange_declare", exchange=route.exchange, passive=True)

    def _asked(self, method: str, **facts: Any) -> None:
        """Call a method of the channel and wait for the answer."""
        answered: list[Any] = []
        getattr(self._channel, method)(callback=answered.append, **facts)
        self._run_until(lambda: bool(answered))

    def _failed(self, _: Any, failure: BaseException) -> None:
        if self._failure is None:
            self._failure = failure
        self._channel = None

    def _returned(self, *_: Any) -> None:
        self._unrouted = True

    def _confirmed(self, frame: Any) -> None:
        import pika

        method = frame.method
        tags = (
            [tag for tag in self._waiting if tag <= method.delivery_tag] if method.multiple else [method.delivery_tag]
        )
        for tag in tags:
            number = self._waiting.pop(tag, None)
            if number is not None and isinstance(method, pika.spec.Basic.Nack):
                self._problems[number] = _REFUSED

    def _run_until(self, is_done: Callable[[], bool]) -> None:
        """Exchange data with the server until something is done; raise if the connection fails first."""
        self._spin(self._loop, lambda: is_done() or self._failure is not None)
        if not is_done():
            raise _failure_of(self._failure) from self._failure

    def _spin(self, loop: Any, is_done: Callable[[], bool]) -> None:
        late: list[bool] = []
        timer = loop.call_later(self._seconds, lambda: late.append(True))
        loop.activate_poller()
        try:
            while not is_done() and not late:
                loop.poll()
                loop.process_timeouts()
        finally:
            loop.deactivate_poller()
            loop.remove_timeout(timer)


def _failure_of(failure: BaseException | None) -> AmqpFailure:
    import pika

    if failure is None:
        return AmqpFailure("the server does not confirm messages in time")
    if isinstance(failure, pika.exceptions.ProbableAuthenticationError):
        return AmqpFailure("it does not accept the user name and password", is_final=True)
    is_channel = isinstance(failure, pika.exceptions.AMQPChannelError)
    is_unknown = getattr(failure, "reply_code", 0) == _NOT_FOUND
    return AmqpFailure(_reason(failure), is_final=is_channel, is_unknown=is_unknown)


def _reason(failure: BaseException) -> str:
    told = getattr(failure, "reply_text", "") or (failure.args[0] if failure.args else "")
    cause = getattr(told, "exception", told)  # what pika wraps
    return reason_of(cause) or type(failure).__name__


def _parameters(settings: RabbitmqSettings, owner: str) -> Any:
    import pika

    where = f"plugin.{owner}.url"
    try:
        address = urlsplit(settings.url)
        is_good = address.scheme in ("amqp", "amqps") and bool(address.hostname) and not address.query
        parameters = pika.URLParameters(settings.url) if is_good else None
    except ValueError:
        parameters = None
    # The address itself is not shown: it may hold a password.
    if parameters is None:
        raise ConfigError("is not an address", where=where, hint="For example: amqp://localhost:5672/")
    if address.username is not None:
        hint = f"Set username and password in [plugin.{owner}]."
        raise ConfigError("holds a user name", where=where, hint=hint)
    seconds = settings.timeout.total_seconds()
    parameters.credentials = pika.PlainCredentials(settings.username, settings.password)
    parameters.heartbeat = max(2, int(seconds))
    parameters.blocked_connection_timeout = seconds  # a server that is short of memory or disk takes no messages
    parameters.socket_timeout = parameters.stack_timeout = min(seconds, 30.0)
    if address.scheme == "amqps" and settings.ca_file is not None:
        context = ssl.create_default_context(cafile=str(settings.ca_file))
        parameters.ssl_options = pika.SSLOptions(context, address.hostname)
    return parameters


def _header(text: str, owner: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError("a header is not of the form name=value", where=f"plugin.{owner}.headers")
    return name.strip(), value.strip()
