"""What is sent to single hosts: credentials and cookies, read from files that name them.

# http.auth_file: host, kind, user name and password, or a token
intranet.example.org   basic    reader    s3cret
*.example.com          bearer   eyJhbGciOi...

# agent.host_cookie_file: host, a tab, the cookie
www.example.org	consent=yes; lang=en
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Generic, TypeVar

import pycurl
from msgspec import Struct

from scoter.core.display import size
from scoter.core.reply import Headers
from scoter.core.url import host_of
from scoter.errors import ConfigError, RuleError

KINDS = ("basic", "digest", "ntlm", "bearer")
_LARGEST_FILE = 16 * 1024 * 1024
Value = TypeVar("Value")


class Credential(Struct, frozen=True):
    """How to authenticate at a host."""

    kind: str
    user: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        return f"Credential({self.kind!r}, {self.user!r}, …)"  # no log may hold a password


class ByHost(Generic[Value]):
    """Values for hosts: by the host itself, else by the longest ``*.domain`` above it."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    def __bool__(self) -> bool:
        return bool(self._values)

    def get(self, host: str) -> Value | None:
        """Return what is known for a host."""
        if not self._values:
            return None
        found = self._values.get(host)
        labels = host.split(".")
        for at in range(len(labels)):
            if found is not None:
                break
            found = self._values.get("*." + ".".join(labels[at:]))
        return found


def parse_credentials(lines: Iterable[str], source: str, *, can: Container[str] = KINDS) -> ByHost[Credential]:
    """Read the lines of an authentication file; ``can`` are the kinds that can be used here."""
    found: dict[str, Credential] = {}
    for number, text in _meaningful(lines):
        host, kind, *rest = [*text.split(), "", ""][: max(len(text.split()), 2)]
        if kind not in KINDS:
            raise RuleError(
                f"{kind!r} is not a kind of authentication",
                file=source,
                line=number,
                hint=f"There are {', '.join(KINDS)}.",
            )
        if kind not in can:
            raise RuleError(
                f"{kind!r} is not built into this libcurl",
                file=source,
                line=number,
                hint="Install a pycurl whose libcurl has it, as the wheel of 7.46.0 does, or leave the line out.",
            )
        if len(rest) != (1 if kind == "bearer" else 2):
            raise RuleError(
                "a token must follow" if kind == "bearer" else "a user name and a password must follow",
                file=source,
                line=number,
                hint="A line is: host basic user password, or: host bearer token.",
            )
        found[_host(host, source, number)] = Credential(kind, "" if kind == "bearer" else rest[0], rest[-1])
    return ByHost(found)


def parse_cookies(lines: Iterable[str], source: str) -> ByHost[str]:
    """Read the lines of a cookie file."""
    found: dict[str, str] = {}
    for number, text in _meaningful(lines):
        host, tab, cookie = text.partition("\t")
        if not tab or not cookie.strip():
            raise RuleError("is not a host, a tab and a cookie", file=source, line=number)
        found[_host(host.strip(), source, number)] = cookie.strip()
    return ByHost(found)


def read_lines(file: Path | None, setting: str) -> tuple[str, ...]:
    """Return the lines of a file that a setting names; none when it names none."""
    if file is None:
        return ()
    try:
        with file.open("rb") as opened:
            body = opened.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}", where=setting) from error
    if len(body) > _LARGEST_FILE:
        raise ConfigError(f"{file} is larger than {size(_LARGEST_FILE)}", where=setting)
    return tuple(body.decode("utf-8", errors="replace").split("\n"))


def _host(text: str, source: str, line: int) -> str:
    """Return a host as it stands in URLs; what could never be one must not be a rule that never holds."""
    above = "*." if text.startswith("*.") else ""
    if host := host_of(text.removeprefix("*.")):
        return above + host
    raise RuleError(
        f"{text!r} is not a host",
        file=source,
        line=line,
        hint="A host is a name or an address, without scheme, port or path; *.example.org stands for all of a domain.",
    )


def _meaningful(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()


MOST: Final = 20_000
"""Set-Cookie fields after which the jar is emptied, and sessions begin anew; at most 100 MB."""


class CookieJar:
    """Cookies of many hosts; those of one are never sent to another."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._set = 0
        self._share = pycurl.CurlShare()
        self._share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        self._broom = pycurl.Curl()
        self.options: tuple[tuple[int, object], ...] = ((pycurl.SHARE, self._share), (pycurl.COOKIEFILE, ""))
        """What makes a handle use the jar."""
        for option, value in self.options:
            self._broom.setopt(option, value)

    def note(self, headers: Headers) -> None:
        """Count what an answer has put into the jar, and empty it when it is full."""
        self._set += sum(1 for name, _ in headers if name.lower() == "set-cookie")
        if self._set >= self._most:
            self._broom.setopt(pycurl.COOKIELIST, "ALL")
            self._set = 0
