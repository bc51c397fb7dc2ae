"""The ledger: a log of every request with host, path and times, used to check politeness and completeness.

Times are seconds since the server started. A request starts when its head has been read and ends when the last byte of
the response has been passed to the socket. Responses take no time unless the web has a latency.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator
from itertools import pairwise
from time import monotonic

import msgspec

_METHODS = ("GET", "HEAD", "POST", "OTHER")
_LIMIT = 2_000_000
#: Maximum length of a logged path, and maximum bytes of all paths.
_PATH_LENGTH = 4096
_PATHS_BYTES = 512 * 1024 * 1024


class LoggedRequest(msgspec.Struct, frozen=True):
    """One request. While it is being answered, ``end`` is None and ``status`` is 0."""

    number: int
    host: str
    path: str
    method: str
    start: float
    end: float | None
    status: int
    bytes: int
    port: int


class HostSummary(msgspec.Struct, frozen=True):
    """The ledger's statistics for one host."""

    host: str
    count: int
    #: Shortest time between the starts of two successive requests; None with fewer than two.
    min_gap: float | None
    max_concurrency: int


class SimLedger:
    """Logs requests in start order, using about 45 bytes each plus the path."""

    def __init__(self, limit: int = _LIMIT, time: Callable[[], float] = monotonic) -> None:
        self._limit = limit
        self._time = time
        self._began = time()
        self._generation = 0
        self._clear()

    def __repr__(self) -> str:
        return f"SimLedger({self.count()} requests, {self.dropped} dropped)"

    def _clear(self) -> None:
        self.dropped = 0
        self._hosts: dict[str, int] = {}
        self._names: list[str] = []
        self._host = array("I")
        self._start = array("d")
        self._end = array("d")
        self._status = array("H")
        self._bytes = array("Q")
        self._port = array("H")
        self._method = array("B")
        self._paths = bytearray()
        self._path_end = array("Q")

    def reset(self) -> None:
        """Delete all requests; those in progress are not logged when they end."""
        self._generation += 1
        self._clear()

    def begin(self, host: str, path: str, method: str, port: int) -> int:
        """Log a request that starts now; return the ticket for ``end``."""
        number = len(self._path_end)
        if number >= self._limit or len(self._paths) >= _PATHS_BYTES:
            self.dropped += 1
            return -1
        self._host.append(self._host_number(host))
        self._start.append(self._time() - self._began)
        self._end.append(math.nan)
        self._status.append(0)
        self._bytes.append(0)
        self._port.append(port & 0xFFFF)
        self._method.append(_METHODS.index(method) if method in _METHODS else len(_METHODS) - 1)
        self._paths += path[:_PATH_LENGTH].encode("utf-8", "surrogateescape")
        # Last, because readers in other threads use the length of this column.
        self._path_end.append(len(self._paths))
        return self._generation << 40 | number

    def end(self, ticket: int, status: int, size: int) -> None:
        """Log that the response has been sent."""
        if ticket < 0 or ticket >> 40 != self._generation:
            return
        number = ticket & 0xFFFFFFFFFF
        self._status[number] = status
        self._bytes[number] = size
        self._end[number] = self._time() - self._began

    def _host_number(self, host: str) -> int:
        number = self._hosts.get(host)
        if number is None:
            number = len(self._names)
            # The name first, because readers in other threads look names up by number.
            self._names.append(host)
            self._hosts[host] = number
        return number

    def count(self, host: str | None = None) -> int:
        """Return the number of requests to one host or to all."""
        if host is None:
            return len(self._path_end)
        number = self._hosts.get(host)
        return 0 if number is None else self._host[: len(self._path_end)].count(number)

    def requests(self, host: str | None = None, since: int = 0) -> Iterator[LoggedRequest]:
        """Yield the requests from number ``since`` on, to one host or to all."""
        wanted = None if host is None else self._hosts.get(host, -1)
        for number in range(max(since, 0), len(self._path_end)):
            if wanted is None or self._host[number] == wanted:
                yield self._entry(number)

    def _entry(self, number: int) -> LoggedRequest:
        end = self._end[number]
        first = self._path_end[number - 1] if number else 0
        return LoggedRequest(
            number=number,
            host=self._names[self._host[number]],
            path=self._paths[first : self._path_end[number]].decode("utf-8", "surrogateescape"),
            method=_METHODS[self._method[number]],
            start=self._start[number],
            end=None if math.isnan(end) else end,
            status=self._status[number],
            bytes=self._bytes[number],
            port=self._port[number],
        )

    def gaps(self, *hosts: str) -> list[float]:
        """Return the times between the starts of successive requests.

        Several hosts count as one (for example those of a domain); none means all.
        """
        return _gaps(self._times_of(hosts)[0])

    def max_concurrency(self, *hosts: str) -> int:
        """Return the highest number of concurrent requests to the given hosts, or to all."""
        return _concurrency(*self._times_of(hosts))

    def summary(self) -> list[HostSummary]:
        """Return statistics per host, in order of first request."""
        return [
            HostSummary(
                host=self._names[number],
                count=len(starts),
                min_gap=min(_gaps(starts), default=None),
                max_concurrency=_concurrency(starts, ends),
            )
            for number, (starts, ends) in self._times().items()
        ]

    def _times_of(self, hosts: tuple[str, ...]) -> tuple[list[float], list[float]]:
        """Return starts and ends; requests in progress end at infinity."""
        wanted = {self._hosts.get(host, -1) for host in hosts}
        every = range(len(self._path_end))
        numbers = [n for n in every if self._host[n] in wanted] if hosts else list(every)
        return [self._start[n] for n in numbers], [self._ended(n) for n in numbers]

    def _times(self) -> dict[int, tuple[list[float], list[float]]]:
        """Return starts and ends by host number, in one pass."""
        found: dict[int, tuple[list[float], list[float]]] = {}
        for number in range(len(self._path_end)):
            starts, ends = found.setdefault(self._host[number], ([], []))
            starts.append(self._start[number])
            ends.append(self._ended(number))
        return found

    def _ended(self, number: int) -> float:
        end = self._end[number]
        return math.inf if math.isnan(end) else end


def _gaps(starts: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(starts)]


def _concurrency(starts: list[float], ends: list[float]) -> int:
    done, most = 0, 0
    ordered = sorted(ends)
    for begun, start in enumerate(starts, start=1):
        # A request that starts exactly when another ends does not overlap with it.
        while ordered[done] <= start and done < begun - 1:
            done += 1
        most = max(most, begun - done)
    return most
