"""Politeness policies: one for all hosts, and overrides for single hosts from ``fetch.hosts``.

An override names a host and also covers its subdomains; the longest matching name wins. It changes only what it
mentions: ``example.org delay=10s`` keeps the default threads and failure limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from scoter.config.sections.fetch import FetchSettings
from scoter.config.units import read_duration
from scoter.core.url import host_of
from scoter.errors import ConfigError, nearest

_ACCEPTED: Final = "An entry looks like: example.org delay=10s threads=2"
_MAX_THREADS: Final = 1_000

# A host of one's own: at most fifty requests per second, and one at a time where robots.txt asks for a delay or the
# host cannot keep up.
OWN_THREADS: Final = 4
OWN_SPACING: Final = timedelta(milliseconds=20)
OWN_DELAY: Final = timedelta(milliseconds=250)


class Policy(Struct, frozen=True, kw_only=True):
    """The politeness rules of one queue.

    ``delay`` applies after each request if ``threads`` is 1, ``min_delay`` between requests if it is more.
    ``max_exceptions`` is ``None`` if no number of failures blocks the host, ``max_crawl_delay`` if any Crawl-delay is
    obeyed.
    """

    delay: timedelta = timedelta(seconds=5)
    min_delay: timedelta = timedelta(0)
    threads: int = 1
    min_crawl_delay: timedelta = timedelta(seconds=5)
    max_crawl_delay: timedelta | None = timedelta(seconds=30)
    max_exceptions: int | None = 5
    exception_delay: timedelta = timedelta(seconds=5)
    clear_after: timedelta = timedelta(minutes=30)
    adaptive: bool = True

    @property
    def spacing(self) -> timedelta:
        """The least time between two requests, if neither robots.txt nor the host wants more."""
        return self.delay if self.threads == 1 else self.min_delay


class Policies:
    """The policy of every host.

    ``own`` are hosts of one's own, without their subdomains, that share one policy.

    >>> policies = Policies(Policy(), {"example.org": Policy(threads=2)}, {"example.net": Policy(threads=4)})
    >>> policies("www.example.org").threads, policies("example.com").threads
    (2, 1)
    >>> policies("example.net").threads, policies("www.example.net").threads
    (4, 1)
    """

    def __init__(
        self,
        default: Policy,
        overrides: Mapping[str, Policy] | None = None,
        own: Mapping[str, Policy] | None = None,
    ) -> None:
        self.default = default
        self._own = dict(own or {})
        self._configured = dict(overrides or {})
        self._overrides = dict(self._configured)
        self._delays: dict[str, timedelta] = {}

    def __repr__(self) -> str:
        return f"Policies({len(self._overrides)} overrides)"

    def put(self, name: str, policy: Policy | None) -> None:
        """Override the policy of a host and its subdomains; ``None`` restores the configured one."""
        policy = policy or self._configured.get(name)
        if policy is not None:
            self._overrides[name] = policy
        else:
            self._overrides.pop(name, None)

    def put_delay(self, key: str, delay: timedelta) -> bool:
        """Set the delay of one queue, without its subdomains; return false if it had this delay already."""
        if self._delays.get(key) == delay:
            return False
        self._delays[key] = delay
        return True

    def __call__(self, key: str) -> Policy:
        found = self._of_host(key)
        delay = self._delays.get(key) if self._delays else None
        # As for fetch.hosts: robots.txt may lengthen the delay, not shorten it.
        return found if delay is None else replace(found, delay=delay, min_crawl_delay=delay)

    def _of_host(self, key: str) -> Policy:
        if not self._overrides:
            return self._own.get(key, self.default)
        name = key
        while name:
            found = self._overrides.get(name)
            if found is not None:
                return found
            name = name.partition(".")[2]
        return self._own.get(key, self.default)


def policies_of(settings: FetchSettings) -> Policies:
    """Return the policies of the settings section ``[fetch]``; an invalid entry raises ``ConfigError``."""
    default = Policy(
        delay=settings.delay,
        min_delay=settings.min_delay,
        threads=settings.threads_per_queue,
        min_crawl_delay=settings.min_crawl_delay,
        max_crawl_delay=settings.max_crawl_delay,
        max_exceptions=settings.max_exceptions_per_queue,
        exception_delay=settings.exceptions_per_queue_delay,
        clear_after=settings.exceptions_per_queue_clear_after,
        adaptive=settings.adaptive_delay,
    )
    own = replace(
        default,
        delay=min(OWN_DELAY, default.delay),
        min_delay=min(OWN_SPACING, default.min_delay or OWN_SPACING),
        threads=max(OWN_THREADS, default.threads),
        min_crawl_delay=timedelta(0),
    )
    return Policies(default, _overrides(settings.hosts, default), dict.fromkeys(own_hosts(settings), own))


def own_hosts(settings: FetchSettings) -> frozenset[str]:
    """Return the hosts of ``fetch.own_hosts`` as URLs spell them; an invalid one raises ``ConfigError``."""
    found = frozenset(host_of(name.strip()) for name in settings.own_hosts)
    if "" in found:
        wrong = next(name for name in settings.own_hosts if not host_of(name.strip()))
        raise ConfigError(f'"{wrong}" is not a host', where="fetch.own_hosts", hint="Write a host without a port.")
    return found


def _overrides(entries: Iterable[str], default: Policy) -> dict[str, Policy]:
    found: dict[str, Policy] = {}
    for entry in entries:
        name, *changes = entry.split()
        name = _host(entry, name)
        if name in found:
            raise ConfigError(f'names "{name}" twice', where="fetch.hosts", hint="Keep one entry for each host.")
        found[name] = replace(default, **_changes(entry, changes))
    return found


def _host(entry: str, name: str) -> str:
    """Return a host as URLs spell it; refuse a name that could never match one."""
    if host := host_of(name):
        return host
    hint = f"{_ACCEPTED} (this also covers its subdomains)"
    raise ConfigError(f'"{entry}": {name} is not a host name', where="fetch.hosts", hint=hint)


def _changes(entry: str, words: Iterable[str]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in _READERS:
            close = nearest(name, _READERS)
            meant = f"; did you mean {close}?" if close else f"; known: {', '.join(_READERS)}"
            raise ConfigError(
                f'"{entry}": {name} is not an option of a host{meant}', where="fetch.hosts", hint=_ACCEPTED
            )
        try:
            changes[name] = _READERS[name](value)
        except ValueError as error:
            raise ConfigError(f'"{entry}": {name}={value} {error}', where="fetch.hosts", hint=_ACCEPTED) from None
    if "delay" in changes:
        # As fetch.min_crawl_delay follows fetch.delay: robots.txt may lengthen a host's own delay, not shorten it.
        changes["min_crawl_delay"] = changes["delay"]
    return changes


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= _MAX_THREADS):
            raise ValueError(f"is not a whole number from {least} to {_MAX_THREADS}")
        return int(text)

    return read


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "delay": read_duration,
    "min_delay": read_duration,
    "threads": _whole(1),
    "max_exceptions": lambda text: None if text == "off" else _whole(0)(text),
}
