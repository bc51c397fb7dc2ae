"""How an event loop watches libcurl's sockets.

libcurl says for every transfer when to begin and when to cease watching a socket. Telling the event loop each time
costs more than the transfer itself, so on Linux the sockets stand behind one epoll descriptor, which is all that the
loop watches. There a socket that libcurl no longer waits for stays registered until it stirs, since most connections
are used again soon; one that was closed has left the set by itself.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias

import pycurl

Act: TypeAlias = Callable[[Sequence[tuple[int, int]]], None]
"""Told the descriptors on which something happened, with libcurl's mask of what."""

_READ: int = pycurl.CSELECT_IN
_WRITE: int = pycurl.CSELECT_OUT
_AT_ONCE = 256  # events taken in one go, so that other work of the loop is not kept waiting


class Sockets(Protocol):
    """The sockets of one multi handle; ``watch`` is what libcurl calls."""

    def watch(self, what: int, fd: int, multi: object, data: object) -> None: ...
    def forget(self) -> None:
        """Take no socket for watched: one that was closed may have given its number to another."""

    def close(self) -> None: ...


def sockets_on(loop: asyncio.AbstractEventLoop, act: Act) -> Sockets:
    """Return the cheapest way to watch sockets that this machine has."""
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
        loop.add_reader(self._epoll.fileno(), self._stir)

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

    def _stir(self) -> None:
        ready = []
        for fd, events in self._epoll.poll(0, _AT_ONCE):
            if fd in self._wanted:
                # A socket that broke is readable: reading tells libcurl how.
                mask = _READ if events & ~select.EPOLLOUT else 0
                ready.append((fd, mask | _WRITE if events & select.EPOLLOUT else mask))
            else:
                self._registered.pop(fd, None)
                with suppress(OSError):
                    self._epoll.unregister(fd)
        self._act(ready)


class LoopSockets:
    """Each socket watched by the event loop itself."""

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
        pass  # libcurl says of every socket when it ceases to be watched

    def close(self) -> None:
        for fd, mask in self._watched.items():
            self._unwatch(fd, mask)
        self._watched.clear()

    def _unwatch(self, fd: int, mask: int) -> None:
        if mask & pycurl.POLL_IN:
            self._loop.remove_reader(fd)
        if mask & pycurl.POLL_OUT:
            self._loop.remove_writer(fd)
