"""Request header fields: our User-Agent and other fixed fields, in the forms that libcurl and the archive need."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from scoter import __version__
from scoter.config import Config
from scoter.core.reply import Headers
from scoter.errors import ConfigError

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
_MAX_FILE = 1024 * 1024
_LINE_BREAKS = str.maketrans("\r\n\0", "   ")


def user_agent(config: Config) -> str:
    """Return our User-Agent: ``name/version (description; url; email)``.

    Raises ``ConfigError`` if ``agent.name`` is not set: site owners must be able to tell who is asking.
    """
    agent = config.agent
    if not agent.name:
        raise ConfigError(
            "is not set; nothing is fetched without it",
            where="agent.name",
            hint='Say who is crawling in scoter.toml:\n\n[agent]\nname = "examplebot"\nurl = "https://example.org/bot"\n\n'
            "or with -D agent.name=examplebot (scoter crawl, serve and parsechecker: --agent examplebot).",
        )
    about = "; ".join(filter(None, (agent.description, agent.url, agent.email)))
    return f"{agent.name}/{agent.version or __version__}" + (f" ({about})" if about else "")


def user_agents(config: Config) -> Callable[[], str]:
    """Return a function that returns the User-Agent of the next request."""
    own = user_agent(config)
    if not config.agent.rotate:
        return lambda: own
    names = read_agents(config.agent.rotate_file)
    return lambda: random.choice(names)


def read_agents(file: Path | None) -> list[str]:
    """Return the User-Agents in the file that agent.rotate_file names."""
    where = "agent.rotate_file"
    if file is None:
        raise ConfigError("is not set, but agent.rotate is on", where=where, hint="Name a file with User-Agents.")
    try:
        text = file.read_bytes()[:_MAX_FILE].decode("latin-1")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}", where=where) from error
    names = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not names:
        raise ConfigError(f"{file} contains no User-Agent", where=where, hint="Write one per line.")
    return names


def fixed_headers(config: Config) -> Headers:
    """Return the header fields that every request has besides Host and User-Agent."""
    http = config.http
    headers = [("Accept", http.accept), ("Accept-Language", http.accept_language), ("Accept-Encoding", ACCEPT_ENCODING)]
    if config.agent.email:
        headers.append(("From", config.agent.email))
    own = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in http.headers)]
    given = {name.lower() for name, _ in own}
    if "user-agent" in given:
        hint = "Set agent.name, agent.version, agent.url and agent.email, or agent.rotate with a file of User-Agents."
        raise ConfigError("must not set User-Agent", where="http.headers", hint=hint)
    return (*((name, value) for name, value in headers if name.lower() not in given), *own)


def without_cookie(headers: Headers) -> Headers:
    """Return the fields other than Cookie, which libcurl sends itself."""
    return tuple((name, value) for name, value in headers if name.lower() != "cookie")


class RequestHeaders(Struct, frozen=True):
    """Request header fields, as libcurl takes them and as the archive stores them."""

    lines: tuple[str | bytes, ...]
    text: str

    @classmethod
    def of(cls, headers: Headers) -> RequestHeaders:
        """Return fields in both forms; libcurl needs a semicolon to send an empty field."""
        fields = [(one_line(name), one_line(value)) for name, value in headers]
        return cls(
            tuple(_line(f"{name}: {value}" if value else f"{name};") for name, value in fields),
            "".join(f"{name}: {value}".rstrip(" ") + "\r\n" for name, value in fields),
        )

    def with_more(self, more: RequestHeaders) -> RequestHeaders:
        return RequestHeaders(self.lines + more.lines, self.text + more.text)


def one_line(text: str) -> str:
    """Remove line breaks from a field's value, so that a value from outside cannot add another field.

    >>> one_line('"v1"\\r\\nX-Other: 1')
    '"v1"  X-Other: 1'
    """
    return text.translate(_LINE_BREAKS).strip(" \t")


def _line(text: str) -> str | bytes:
    """Return a field as pycurl takes it: as bytes if it is not ASCII, which an ETag may be."""
    return text if text.isascii() else text.encode("latin-1", errors="replace")
