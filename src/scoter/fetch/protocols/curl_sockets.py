"""How the event loop watches libcurl's sockets.

libcurl says for every transfer when to start and stop watching a socket. Passing that on to the event loop each time
costs more than the transfer itself. So on Linux the loop watches a single epoll descriptor for all sockets. A socket
that libcurl no longer waits for stays registered there until its next event, since most connections are reused soon; a
closed socket leaves the set by itself.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias

import pycurl

Act: TypeAlias = Callable[[Sequence[tuple[int, int]]], None]
"""Gets the descriptors with events, and libcurl's mask of the events."""

_READ: int = pycurl.CSELECT_IN
_WRITE: int = pycurl.CSELECT_OUT
_MAX_EVENTS = 256  # per call, so that other work of the loop need not wait


class Sockets(Protocol):
    """The sockets of one multi handle; libcurl calls ``watch``."""

    def watch(self, what: int, fd: int, multi: object, data: object) -> None: ...
    def forget(self) -> None:
        """Forget which sockets are registered: a new socket may have the number of a closed one."""

    def close(self) -> None: ...


def sockets_on(loop: asyncio.AbstractEventLoop, act: Act) -> Sockets:
    """Return the cheapest way to watch sockets on this platform."""
    return EpollSockets(loop, act) if hasattr(select, "epoll") else LoopSockets(loop, act)


class EpollSockets:
    """All sockets behind one descriptor."""

    def __init__(self, loop: asyncio.AbstractEventLoop, act: Act) -> None:
        self._loop = loop
        self._act = act
        self._epoll = select.epoll()
        self._wanted: set[int] = set()
        self._registered: dict[int, int] = {}
        self._events = {
            pycurl.POLL_IN: select.EPOLLIN,
            pycurl.POLL_OUT: select.EPOLLOUT,
            pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
        }
        loop.add_reader(self._epoll.fileno(), self._on_events)

    def watch(self, what: int, fd: int, multi: object, data: object) -> None:
        events = self._events.get(what)
        if events is None:
            self._wanted.discard(fd)
            return
        self._wanted.add(fd)
        if self._registered.get(fd) == events:
            return
        self._registered[fd] = events
        try:
            self._epoll.modify(fd, events)
        except FileNotFoundError:
            self._epoll.register(fd, events)

    def forget(self) -> None:
        self._registered.clear()

    def close(self) -> None:
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _on_events(self) -> None:
        ready = []
        for fd, events in self._epoll.poll(0, _MAX_EVENTS):
            if fd in self._wanted:
                # A broken socket counts as readable: libcurl learns the error by reading.
                mask = _READ if events & ~select.EPOLLOUT else 0
                ready.append((fd, mask | _WRITE if events & select.EPOLLOUT else mask))
            else:
                self._registered.pop(fd, None)
                with suppress(OSError):
                    self._epoll.unregister(fd)
        self._act(ready)


class LoopSockets:
    """Each socket is watched by the event loop itself."""

    def __init__(self, loop: asyncio.AbstractEventLoop, act: Act) -> None:
        self._loop = loop
        self._act = act
        self._watched: dict[int, int] = {}

    def watch(self, what: int, fd: int, multi: object, data: object) -> None:
        before = self._watched.get(fd, 0)
        wanted = 0 if what == pycurl.POLL_REMOVE else what
        if wanted & pycurl.POLL_IN and not before & pycurl.POLL_IN:
            self._loop.add_reader(fd, self._act, ((fd, _READ),))
        if wanted & pycurl.POLL_OUT and not before & pycurl.POLL_OUT:
            self._loop.add_writer(fd, self._act, ((fd, _WRITE),))
        self._unwatch(fd, before & ~wanted)
        if wanted:
            self._watched[fd] = wanted
        else:
            self._watched.pop(fd, None)

    def forget(self) -> None:
        pass  # libcurl says when to stop watching each socket

    def close(self) -> None:
        for fd, mask in self._watched.items():
            self._unwatch(fd, mask)
        self._watched.clear()

    def _unwatch(self, fd: int, mask: int) -> None:
        if mask & pycurl.POLL_IN:
            self._loop.remove_reader(fd)
        if mask & pycurl.POLL_OUT:
            self._loop.remove_writer(fd)
