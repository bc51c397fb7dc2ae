"""The connection of an index writer to a search server over HTTP.

A server that is overloaded or does not answer is asked again, with growing pauses or those that it asks for in
Retry-After. The addresses of several nodes are used in turn: if one does not answer, the next request goes to another.
"""

from __future__ import annotations

import base64
import http.client
import logging
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

from scoter.config import Setting
from scoter.config.units import Size
from scoter.errors import ConfigError, UserError
from scoter.extras import install_command

LONGEST_PAUSE: Final = 60.0
REPEAT: Final = "Repeat the command when the server is back: it continues where it stopped."
_BUSY: Final = frozenset((429, 502, 503, 504))
_LONGEST_REASON: Final = 300
_DEEPEST_CAUSE: Final = 3
_LARGEST_REPLY: Final = 64 * 2**20
_CHUNK: Final = 64 * 1024


class ServerSettings(Struct, frozen=True):
    """How to log in to a server, and the limits of requests."""

    username: Annotated[str, Setting("User name; empty means no authentication.")] = ""
    password: Annotated[str, Setting("Password; better set it with an environment variable.", secret=True)] = ""
    ca_file: Annotated[Path | None, Setting("Certificate authorities to trust, in PEM format.")] = None
    bulk_size: Annotated[Size, Setting("Maximum size of a request.", at_least=64 * 1024)] = Size(4 * 2**20)
    bulk_documents: Annotated[int, Setting("Maximum number of documents in a request.", at_least=1)] = 250
    retries: Annotated[
        int, Setting("How often a server is asked again that is busy or does not answer.", at_least=0, at_most=100)
    ] = 6
    timeout: Annotated[timedelta, Setting("Maximum time for a request.", at_least=timedelta(seconds=1))] = timedelta(
        seconds=60
    )


class ServerReply(Struct, frozen=True):
    """The status and the body of a response."""

    status: int
    body: bytes
    retry_after: str = ""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Return the body as JSON, or ``None`` if it is something else."""
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None

    @property
    def error(self) -> Any:
        """What the server says about a failure, if anything."""
        found = self.json()
        return found.get("error") if isinstance(found, Mapping) else None

    @property
    def reason(self) -> str:
        """The status and what the server says about a failure, in one line."""
        return f"HTTP {self.status}" + (f": {reason_of(self.error)}" if self.error else "")


class ServerConnection:
    """Sends requests to the nodes of a server, and repeats those that fail.

    ``plugin`` is the name of the plug-in, for messages.
    """

    def __init__(
        self,
        plugin: str,
        addresses: Sequence[str],
        settings: ServerSettings,
        *,
        authorization: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._plugin = plugin
        self._nodes = [_node(address, plugin) for address in addresses]
        if not self._nodes:
            raise ConfigError("names no server", where=f"plugin.{plugin}.url")
        self._settings = settings
        self._sleep = sleep
        self._headers = {"Accept": "application/json", "User-Agent": "scoter"}
        if settings.username:
            login = base64.b64encode(f"{settings.username}:{settings.password}".encode()).decode()
            authorization = f"Basic {login}"
        if authorization:
            self._headers["Authorization"] = authorization
        self._tls = self._context() if any(node.scheme == "https" for node in self._nodes) else None
        self._open: http.client.HTTPConnection | None = None
        self._used = False

    @property
    def where(self) -> str:
        """The addresses, for messages."""
        return ", ".join(node.geturl() for node in self._nodes)

    def probe(self, method: str, path: str, body: bytes = b"") -> ServerReply:
        """Send the first request. A server that does not answer it has probably the wrong address: do not wait."""
        problem = ""
        for _ in self._nodes:
            try:
                return self._accepted(self._repeated(method, path, body, "application/json", give_up=True))
            except _NoAnswer as failure:
                problem = str(failure)
        raise UserError(
            f"the server does not answer: {problem}", where=self.where, hint=f"See plugin.{self._plugin}.url. {REPEAT}"
        )

    def request(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> ServerReply:
        """Send a request, again if necessary, and return the reply; raise if the server or the login is at fault."""
        try:
            return self._accepted(self._repeated(method, path, body, kind))
        except _NoAnswer as failure:
            raise self.unusable(str(failure)) from failure

    def pauses(self) -> Pauses:
        """Return the pauses between the attempts of one request."""
        return Pauses(self._settings.retries, self._sleep)

    def unusable(self, reason: str) -> UserError:
        """Return the error for a server that does not work at the moment."""
        return UserError(f"the server cannot be used: {reason}", where=self.where, hint=REPEAT)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _repeated(self, method: str, path: str, body: bytes, kind: str, *, give_up: bool = False) -> ServerReply:
        pauses = self.pauses()
        while True:
            try:
                reply = self._sent(method, path, body, kind)
            except _NoAnswer:
                self._next_node()
                if give_up or not pauses.wait():
                    raise
                continue
            if reply.status not in _BUSY or not pauses.wait(reply.retry_after):
                return reply

    def _accepted(self, reply: ServerReply) -> ServerReply:
        """Return a reply about the request itself; raise if it says that the server or the login does not work."""
        match reply.status:
            case 401:
                is_known = "Authorization" in self._headers
                raise UserError(
                    "the server does not accept the user name and password"
                    if is_known
                    else "the server requires a user name and password",
                    where=self.where,
                    hint=f"Set username and password in [plugin.{self._plugin}].",
                )
            case 403:
                raise UserError(f"the server forbids it ({reply.reason})", where=self.where)
            case status if status in _BUSY:
                raise self.unusable(reply.reason)
            case status if 300 <= status < 400:
                raise UserError(
                    f"the server redirects requests (HTTP {status})",
                    where=self.where,
                    hint=f"Write the final address in plugin.{self._plugin}.url.",
                )
            case _:
                return reply

    def _sent(self, method: str, path: str, body: bytes, kind: str) -> ServerReply:
        """Send a request once; an old connection that the server has closed meanwhile is replaced."""
        was_used = self._used
        try:
            return self._exchanged(method, path, body, kind)
        except (http.client.HTTPException, OSError, ValueError) as failure:
            self.close()
            if isinstance(failure, ssl.SSLCertVerificationError):
                hint = f"If the certificate is your own, set plugin.{self._plugin}.ca_file."
                problem = f"the certificate is not valid: {failure.verify_message}"
                raise UserError(problem, where=self.where, hint=hint) from failure
            if was_used and isinstance(failure, http.client.RemoteDisconnected | ConnectionError):
                return self._sent(method, path, body, kind)
            raise _NoAnswer(reason_of(failure) or type(failure).__name__) from failure

    def _exchanged(self, method: str, path: str, body: bytes, kind: str) -> ServerReply:
        node, seconds = self._nodes[0], self._settings.timeout.total_seconds()
        deadline = time.monotonic() + seconds
        if self._open is None:
            self._open, self._used = self._connection(node, seconds), False
        headers = {**self._headers, "Content-Type": kind} if body else self._headers
        self._open.request(method, node.path + path, body or None, headers)
        reply = self._open.getresponse()
        data = bytearray()
        while piece := reply.read1(_CHUNK):
            data += piece
            if len(data) > _LARGEST_REPLY:
                raise ValueError("the response is too large")
            if time.monotonic() > deadline:
                raise TimeoutError("the response takes too long")
        reply.close()  # http.client leaves that to its callers after HEAD
        self._used = True
        if reply.will_close:
            self.close()
            self._used = False
        return ServerReply(reply.status, bytes(data), reply.headers.get("Retry-After", ""))

    def _connection(self, node: SplitResult, seconds: float) -> http.client.HTTPConnection:
        host = node.hostname or ""
        if node.scheme == "https":
            return http.client.HTTPSConnection(host, node.port, timeout=seconds, context=self._tls)
        return http.client.HTTPConnection(host, node.port, timeout=seconds)

    def _next_node(self) -> None:
        self.close()
        self._used = False
        self._nodes = [*self._nodes[1:], self._nodes[0]]

    def _context(self) -> ssl.SSLContext:
        file = self._settings.ca_file
        try:
            return ssl.create_default_context(cafile=None if file is None else str(file))
        except OSError as error:
            raise ConfigError(
                f"{file} has no certificates: {error.strerror or error}", where=f"plugin.{self._plugin}.ca_file"
            ) from error


class Pauses:
    """The growing pauses between the attempts of one request."""

    def __init__(self, number: int, sleep: Callable[[float], None]) -> None:
        self._left = number
        self._sleep = sleep
        self._next = 1.0

    def wait(self, retry_after: str = "") -> bool:
        """Wait before the next attempt; return ``False`` if there is none left."""
        if self._left == 0:
            return False
        self._left -= 1
        told = retry_after.strip()
        wanted = float(told) if told.isascii() and told.isdigit() and len(told) < 9 else self._next
        self._sleep(min(wanted, LONGEST_PAUSE))
        self._next = min(2 * self._next, LONGEST_PAUSE)
        return True


class _NoAnswer(Exception):
    """The server cannot be reached, or breaks off."""


def _node(address: str, plugin: str) -> SplitResult:
    where = f"plugin.{plugin}.url"
    try:
        found = urlsplit(address.strip().rstrip("/"))
        is_good = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        is_good = False
    # The address itself is not shown: it may hold a password.
    if not is_good or not address.isascii() or any(character.isspace() for character in address.strip()):
        raise ConfigError("is not the address of a server", where=where, hint="For example: http://localhost:9200")
    if found.username is not None:
        raise ConfigError("holds a user name", where=where, hint=f"Set username and password in [plugin.{plugin}].")
    if found.query or found.fragment:
        raise ConfigError("must be without ? and #", where=where)
    return found


def reason_of(told: Any, depth: int = 0) -> str:
    """Return what a server or a library says about a failure, in one short line.

    >>> reason_of({"type": "mapper_parsing_exception", "reason": "failed", "caused_by": {"reason": "For input: x"}})
    'failed (For input: x)'
    """
    if isinstance(told, Mapping):
        cause = told.get("caused_by")
        inner = f" ({reason_of(cause, depth + 1)})" if isinstance(cause, Mapping) and depth < _DEEPEST_CAUSE else ""
        told = f"{told.get('reason') or told.get('msg') or told.get('type') or dict(told)}{inner}"
    elif isinstance(told, OSError) and told.strerror:
        told = told.strerror
    return " ".join(str(told).split())[:_LONGEST_REASON]


def require(package: str, what: str, where: str, extra: str) -> None:
    """Raise an error that names the extra if a package is not installed."""
    if find_spec(package) is None:
        hint = f"Run: {install_command(extra)}"
        raise ConfigError(f"the {what} needs a package that is not installed", where=where, hint=hint)


def silent(name: str) -> logging.Logger:
    """Return the logger of a library; its messages are repeated in errors where they matter."""
    logger = logging.getLogger(name)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger
