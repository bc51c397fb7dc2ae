"""libcurl on the running event loop.

A ``CurlLoop`` runs many transfers at once, on handles that are reused. Each gives a ``TransferResult``: what libcurl
saw. Nothing is followed, decoded or resolved here: the caller says which address to connect to, and a check sees the
address of every socket before it is opened.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections import OrderedDict
from collections.abc import Sequence
from itertools import chain
from typing import Any

import pycurl

from scoter.core.bounded import BoundedMap
from scoter.fetch.protocols.curl_handle import BodyBudget, CurlHandle
from scoter.fetch.protocols.curl_sockets import sockets_on
from scoter.fetch.protocols.transfers import TransferLimits, TransferRequest, TransferResult

_CONNECTIONS_KEPT = 2
_TLS_KNOWN = 4_096
_TIME_IS_UP = ((pycurl.SOCKET_TIMEOUT, 0),)


class CurlLoop:
    """Runs transfers on the running event loop until it is closed."""

    def __init__(
        self, limits: TransferLimits, *, concurrency: int, budget: int, options: Sequence[tuple[int, Any]] = ()
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.limits = limits
        self.options = tuple(options)
        self.budget = BodyBudget(budget, self.loop.call_soon)
        self._idle: list[CurlHandle] = []
        # Handles with special options, which libcurl cannot unset: each is reused for the same options only.
        self._special: OrderedDict[tuple[tuple[int, Any], ...], list[CurlHandle]] = OrderedDict()
        self._specials = 0
        self._busy: dict[pycurl.Curl, CurlHandle] = {}
        self._kept = concurrency
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._due = math.inf  # when libcurl wants to be called
        self._wakes = math.inf  # when the timer fires: at that time or earlier
        self._is_due_now = False
        self._tls: BoundedMap[int, str] = BoundedMap(_TLS_KNOWN)
        self._opened: list[socket.socket] = []
        self._multi = pycurl.CurlMulti()
        self._sockets = sockets_on(self.loop, self._act)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._sockets.watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, _CONNECTIONS_KEPT * concurrency)

    def __repr__(self) -> str:
        return f"CurlLoop({len(self._busy)} transfers, {self.budget!r})"

    async def run(self, transfer: TransferRequest) -> TransferResult:
        """Make one transfer."""
        handle = self._special_handle(transfer.options) if transfer.options else self._idle_handle()
        handle.start(transfer)
        self._busy[handle.curl] = handle
        self._multi.add_handle(handle.curl)
        handle.is_running = True
        try:
            error, message = await handle.waited
            return handle.outcome(error, message)
        finally:
            self._take_back(handle)

    def close(self) -> None:
        """End all transfers and close all connections."""
        self._is_closed = True
        for handle in tuple(self._busy.values()):
            handle.waited.cancel()
            self._stop(handle)
            handle.curl.close()
        self._busy.clear()
        for handle in (*self._idle, *chain.from_iterable(self._special.values())):
            handle.curl.close()
        self._idle.clear()
        self._special.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._multi.close()
        self._sockets.close()
        self._close_opened()

    def _stop(self, handle: CurlHandle) -> None:
        """Remove a handle from libcurl, unless its transfer has ended at the same moment."""
        if handle.is_running:
            handle.is_running = False
            self._multi.remove_handle(handle.curl)

    def _take_back(self, handle: CurlHandle) -> None:
        """Keep a handle for the next transfer; its body counts against the budget until now."""
        if self._busy.pop(handle.curl, None) is None:
            return  # the loop was closed
        self._stop(handle)
        handle.clear()
        self.budget.release(handle)
        if handle.options:
            self._keep_special(handle)
        elif len(self._idle) < self._kept:
            self._idle.append(handle)
        else:
            handle.curl.close()

    def _idle_handle(self) -> CurlHandle:
        return self._idle.pop() if self._idle else CurlHandle(self)

    def _special_handle(self, options: tuple[tuple[int, Any], ...]) -> CurlHandle:
        idle = self._special.get(options)
        return CurlHandle(self, options) if idle is None else self._pop_special(options, idle)

    def _keep_special(self, handle: CurlHandle) -> None:
        self._special.setdefault(handle.options, []).append(handle)
        self._special.move_to_end(handle.options)
        self._specials += 1
        if self._specials > self._kept:
            self._pop_special(*next(iter(self._special.items()))).curl.close()

    def _pop_special(self, options: tuple[tuple[int, Any], ...], idle: list[CurlHandle]) -> CurlHandle:
        self._specials -= 1
        if len(idle) == 1:
            del self._special[options]
        return idle.pop()

    def _set_timer(self, milliseconds: int) -> None:
        """Call libcurl later; an earlier timer stays set and is renewed when it fires."""
        if milliseconds == 0:
            if not self._is_due_now:
                self._is_due_now = True
                self.loop.call_soon(self._act_now)
            return
        if milliseconds < 0:
            self._due = math.inf
            return
        # One millisecond more: called too early, libcurl would do nothing and not ask again.
        self._due = self.loop.time() + (milliseconds + 1) / 1000
        if self._wakes > self._due:
            self._wake_at_due()

    def _wake_at_due(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._wakes = self._due
        self._timer = self.loop.call_at(self._due, self._wake)

    def _wake(self) -> None:
        self._timer, self._wakes = None, math.inf
        if self.loop.time() >= self._due:
            self._due = math.inf
            self._act_now()
        elif self._due < math.inf:
            self._wake_at_due()

    def _act_now(self) -> None:
        self._is_due_now = False
        self._act(_TIME_IS_UP)

    def _act(self, events: Sequence[tuple[int, int]]) -> None:
        if self._is_closed:
            return
        multi = self._multi
        for fd, mask in events:
            multi.socket_action(fd, mask)
        if self._opened:
            self._close_opened()
        left = 1
        while left:
            left, done, failed = multi.info_read()
            for curl in done:
                self.end(curl, 0, "")
            for curl, error, message in failed:
                self.end(curl, error, message)

    def _close_opened(self) -> None:
        """Close our side of new sockets: libcurl has duplicated their descriptors."""
        while self._opened:
            self._opened.pop().close()

    def end(self, curl: pycurl.Curl, error: int, message: str) -> None:
        """Finish a transfer that has ended."""
        handle = self._busy[curl]
        self._stop(handle)
        if not handle.waited.done():
            handle.waited.set_result((error, message))

    def note_opened(self, opened: socket.socket) -> None:
        """Note our side of a socket that libcurl is about to use."""
        self._opened.append(opened)
        self._sockets.forget()

    def tls_of(self, connection: int, seen: str) -> str:
        """Return the TLS version of a connection: ``seen`` for a new one, else the remembered one."""
        if seen:
            self._tls.put(connection, seen)
        return self._tls.peek(connection) or ""
