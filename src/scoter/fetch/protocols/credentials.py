"""Credentials and cookies of single hosts, read from files, and the cookies that servers set.

# http.auth_file: host, kind, user name and password, or a token
intranet.example.org   basic    reader    s3cret
*.example.com          bearer   eyJhbGciOi...

# agent.host_cookie_file: host, a tab, the cookie
www.example.org	consent=yes; lang=en
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Final, Generic, TypeVar

import pycurl
from msgspec import Struct

from scoter.core.display import size
from scoter.core.reply import Headers
from scoter.core.rule_lines import RuleLine, rule_lines
from scoter.core.url import host_of
from scoter.errors import ConfigError

KINDS = ("basic", "digest", "ntlm", "bearer")
_MAX_FILE = 16 * 1024 * 1024
MAX_COOKIES: Final = 20_000
"""Set-Cookie fields after which the jar is emptied; at most 100 MB."""
Value = TypeVar("Value")


class Credential(Struct, frozen=True):
    """How to authenticate at a host."""

    kind: str
    user: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        return f"Credential({self.kind!r}, {self.user!r}, …)"  # no password in logs


class ByHost(Generic[Value]):
    """Values by host: that of the host itself, else of the longest matching ``*.domain``."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    def __bool__(self) -> bool:
        return bool(self._values)

    def get(self, host: str) -> Value | None:
        """Return the value of a host."""
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
    """Read an authentication file; ``can`` are the kinds that this libcurl supports."""
    found: dict[str, Credential] = {}
    for line in rule_lines(lines, source):
        words = line.text.split()
        host, kind, *rest = words if len(words) > 1 else (*words, "")
        if kind not in KINDS:
            raise line.error(f"{kind!r} is not a kind of authentication", f"Known kinds: {', '.join(KINDS)}.")
        if kind not in can:
            hint = "Install a pycurl whose libcurl supports it (the wheel of 7.46.0 does), or remove the line."
            raise line.error(f"this libcurl does not support {kind!r}", hint)
        if len(rest) != (1 if kind == "bearer" else 2):
            missing = "a token is missing" if kind == "bearer" else "a user name and a password are missing"
            raise line.error(missing, "Write: host basic user password, or: host bearer token.")
        found[_host(line, host)] = Credential(kind, "" if kind == "bearer" else rest[0], rest[-1])
    return ByHost(found)


def parse_cookies(lines: Iterable[str], source: str) -> ByHost[str]:
    """Read a cookie file."""
    found: dict[str, str] = {}
    for line in rule_lines(lines, source):
        host, tab, cookie = line.text.partition("\t")
        if not tab or not cookie.strip():
            raise line.error("is not of the form: host, tab, cookie")
        found[_host(line, host.strip())] = cookie.strip()
    return ByHost(found)


def read_lines(file: Path | None, setting: str) -> tuple[str, ...]:
    """Return the lines of the file that a setting names; empty if it names none."""
    if file is None:
        return ()
    try:
        with file.open("rb") as opened:
            body = opened.read(_MAX_FILE + 1)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}", where=setting) from error
    if len(body) > _MAX_FILE:
        raise ConfigError(f"{file} is larger than {size(_MAX_FILE)}", where=setting)
    return tuple(body.decode("utf-8", errors="replace").split("\n"))


def _host(line: RuleLine, name: str) -> str:
    """Return a host as URLs spell it; refuse a name that could never match one."""
    above = "*." if name.startswith("*.") else ""
    if host := host_of(name.removeprefix("*.")):
        return above + host
    hint = "Write a name or an address without scheme, port or path; *.example.org covers a whole domain."
    raise line.error(f"{name!r} is not a host", hint)


class CookieJar:
    """The cookies that servers set, kept by libcurl for all handles of a process, and bounded.

    libcurl refuses what a browser would refuse and takes at most 50 cookies per response, but it never evicts any: in a
    crawl of a million hosts that would be gigabytes. It can only forget all of them at once.
    """

    def __init__(self, most: int = MAX_COOKIES) -> None:
        self._most = most
        self._set = 0
        self._share = pycurl.CurlShare()
        self._share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        self._cleaner = pycurl.Curl()
        self.options: tuple[tuple[int, object], ...] = ((pycurl.SHARE, self._share), (pycurl.COOKIEFILE, ""))
        """Options that make a handle use the jar."""
        for option, value in self.options:
            self._cleaner.setopt(option, value)

    def note(self, headers: Headers) -> None:
        """Count the cookies of a response, and empty the jar if it is full."""
        self._set += sum(1 for name, _ in headers if name.lower() == "set-cookie")
        if self._set >= self._most:
            self._cleaner.setopt(pycurl.COOKIELIST, "ALL")
            self._set = 0
