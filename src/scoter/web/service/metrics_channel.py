"""How lookup processes tell the core what they counted: over a Unix socket of their own, which no client can reach."""

from __future__ import annotations

import asyncio
import logging
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from scoter.web.keys import AccessControl
from scoter.web.metrics import LookupMetrics, MetricsReport, ServiceMetrics

REPORT_INTERVAL: Final = 1.0
_LENGTH: Final = struct.Struct("!I")
_MOST: Final = 2**22
_log = logging.getLogger(__name__)


class KeyUse(Struct, frozen=True):
    """How many requests other processes let in, by key."""

    admitted: Mapping[str, int] = {}


_encode: Final = msgspec.msgpack.Encoder().encode
_read_tally: Final = msgspec.msgpack.Decoder(MetricsReport).decode
_read_elsewhere: Final = msgspec.msgpack.Decoder(KeyUse).decode


class MetricsReceiver:
    """The core's end: adds what it is told to its own counters, and tells each process of the others' requests."""

    def __init__(
        self,
        path: Path,
        measures: ServiceMetrics,
        gate: AccessControl,
        add_uses: Callable[[Mapping[str, datetime]], None],
    ) -> None:
        self._path = path
        self._measures = measures
        self._gate = gate
        self._add_uses = add_uses
        self._untold: dict[int, Counter[str]] = {}
        self._writers: set[asyncio.StreamWriter] = set()

    async def run(self) -> None:
        """Listen until this is cancelled."""
        with suppress(FileNotFoundError):
            self._path.unlink()
        # Nobody else gets at it: its folder is open to this user alone.
        server = await asyncio.start_unix_server(self._serve, str(self._path))
        try:
            await asyncio.Event().wait()
        finally:
            server.close()
            for writer in self._writers:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self._untold[id(writer)] = Counter()
        try:
            while True:
                self._hear(id(writer), _read_tally(await _frame(reader)))
                told, self._untold[id(writer)] = self._untold[id(writer)], Counter()
                writer.write(_framed(_encode(KeyUse(told))))
                await writer.drain()
        except (OSError, EOFError):  # the process has ended
            pass
        except msgspec.MsgspecError as error:
            _log.error("a lookup process told nonsense: %s", error)
        finally:
            del self._untold[id(writer)]
            self._writers.discard(writer)
            writer.close()

    def _hear(self, speaker: int, tally: MetricsReport) -> None:
        self._measures.add(tally)
        self._add_uses(tally.uses)
        for key, count in tally.admitted.items():
            self._gate.charge(key, count)
        own = self._gate.take_admitted()
        for listener, untold in self._untold.items():
            untold.update(own)
            if listener != speaker:
                untold.update(tally.admitted)


async def send_metrics(
    path: Path, counts: LookupMetrics, gate: AccessControl, *, every: float = REPORT_INTERVAL
) -> None:
    """Tell the core what was counted, again and again until this is cancelled; wait for it while it is not there."""
    while True:
        with suppress(OSError, EOFError, msgspec.MsgspecError):
            reader, writer = await asyncio.open_unix_connection(str(path))
            try:
                while True:
                    writer.write(_framed(_encode(counts.take())))
                    await writer.drain()
                    for key, count in _read_elsewhere(await _frame(reader)).admitted.items():
                        gate.charge(key, count)
                    await asyncio.sleep(every)
            finally:
                writer.close()
        await asyncio.sleep(every)


def _framed(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > _MOST:
        raise msgspec.DecodeError(f"{length} bytes")
    return await reader.readexactly(length)
