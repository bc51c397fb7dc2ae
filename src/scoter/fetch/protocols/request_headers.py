"""Who we say we are: the User-Agent, made of the ``agent`` settings."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from scoter import __version__
from scoter.config import Config
from scoter.core.reply import Headers
from scoter.errors import ConfigError

_LARGEST_FILE = 1024 * 1024


def user_agent(config: Config) -> str:
    """Return our User-Agent: ``name/version (description; page; address)``.

    Without a name nothing may be fetched: a site's owner must be able to tell who is asking.
    """
    agent = config.agent
    if not agent.name:
        raise ConfigError(
            "is not set, and nothing is fetched without it",
            where="agent.name",
            hint='Say who is crawling, in scoter.toml:\n\n[agent]\nname = "examplebot"\nurl = "https://example.org/bot"\n\n'
            "or with -D agent.name=examplebot (scoter crawl, serve and parsechecker: --agent examplebot).",
        )
    about = "; ".join(filter(None, (agent.description, agent.url, agent.email)))
    return f"{agent.name}/{agent.version or __version__}" + (f" ({about})" if about else "")


def user_agents(config: Config) -> Callable[[], str]:
    """Return a function that gives the User-Agent of the next request."""
    own = user_agent(config)
    if not config.agent.rotate:
        return lambda: own
    names = _listed(config.agent.rotate_file)
    return lambda: random.choice(names)


def _listed(file: Path | None) -> list[str]:
    where = "agent.rotate_file"
    if file is None:
        raise ConfigError("is empty, but agent.rotate is on", where=where, hint="Name a file with a User-Agent a line.")
    try:
        text = file.read_bytes()[:_LARGEST_FILE].decode("latin-1")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}", where=where) from error
    names = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not names:
        raise ConfigError(f"{file} has no User-Agent in it", where=where, hint="Write one a line.")
    return names


_BREAKS = str.maketrans("\r\n\0", "   ")


class RequestHeaders(Struct, frozen=True):
    """Header fields that go out: as libcurl takes them, and as they stand in the archive."""

    lines: tuple[str | bytes, ...]
    text: str

    @classmethod
    def of(cls, headers: Headers) -> RequestHeaders:
        """Return fields in both forms; libcurl needs a semicolon to send an empty one."""
        fields = [(one_line(name), one_line(value)) for name, value in headers]
        return cls(
            tuple(_line(f"{name}: {value}" if value else f"{name};") for name, value in fields),
            "".join(f"{name}: {value}".rstrip(" ") + "\r\n" for name, value in fields),
        )

    def with_more(self, more: RequestHeaders) -> RequestHeaders:
        return RequestHeaders(self.lines + more.lines, self.text + more.text)


def one_line(text: str) -> str:
    """Return what a field may hold: what a server or a list has given us must not become a field of its own.

    >>> one_line('"v1"\\r\\nX-Other: 1')
    '"v1"  X-Other: 1'
    """
    return text.translate(_BREAKS).strip(" \t")


def _line(text: str) -> str | bytes:
    """Return a field as pycurl takes it: as bytes where it is not ASCII, such as an ETag that a server made."""
    return text if text.isascii() else text.encode("latin-1", errors="replace")
