"""How lookup processes report their metrics to the core: over a Unix socket that no client can reach."""

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

from scoter.http.access import AccessControl
from scoter.live.api.metrics import LookupMetrics, MetricsReport, ServiceMetrics
from scoter.live.sqlite.health import DatabaseHealth

REPORT_INTERVAL: Final = 1.0
_LENGTH: Final = struct.Struct("!I")
_MAX_FRAME: Final = 2**22
_log = logging.getLogger(__name__)


_encode: Final = msgspec.msgpack.Encoder().encode
_decode_report: Final = msgspec.msgpack.Decoder(MetricsReport).decode
_decode_admitted: Final = msgspec.msgpack.Decoder(dict[str, int]).decode  # by key, in other processes


class MetricsReceiver:
    """The core's end: adds reports to its own metrics, and tells each process what the others admitted."""

    def __init__(
        self,
        path: Path,
        metrics: ServiceMetrics,
        access: AccessControl,
        add_uses: Callable[[Mapping[str, datetime]], None],
        health: DatabaseHealth | None = None,
    ) -> None:
        """``health`` is told about failed reads in other processes."""
        self._path = path
        self._metrics = metrics
        self._access = access
        self._add_uses = add_uses
        self._health = health
        self._unsent: dict[asyncio.StreamWriter, Counter[str]] = {}

    async def run(self) -> None:
        """Listen until cancelled."""
        with suppress(FileNotFoundError):
            self._path.unlink()
        # Only this user can reach it: its folder is private.
        server = await asyncio.start_unix_server(self._serve, str(self._path))
        try:
            await asyncio.Event().wait()
        finally:
            server.close()
            for writer in self._unsent:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._unsent[writer] = Counter()
        try:
            while True:
                self._add(writer, _decode_report(await _read_frame(reader)))
                sent, self._unsent[writer] = self._unsent[writer], Counter()
                writer.write(_frame(_encode(sent)))
                await writer.drain()
        except (OSError, EOFError):  # the process has ended
            pass
        except msgspec.MsgspecError as error:
            _log.error("invalid report from a lookup process: %s", error)
        finally:
            del self._unsent[writer]
            writer.close()

    def _add(self, sender: asyncio.StreamWriter, report: MetricsReport) -> None:
        self._metrics.add(report)
        self._add_uses(report.uses)
        if self._health is not None:
            self._health.read_failures += report.read_failures
            self._health.note_damage(report.damage)
        for key, count in report.admitted.items():
            self._access.charge(key, count)
        own = self._access.take_admitted()
        for receiver, unsent in self._unsent.items():
            unsent.update(own)
            if receiver is not sender:
                unsent.update(report.admitted)


async def send_metrics(
    path: Path, metrics: LookupMetrics, access: AccessControl, *, every: float = REPORT_INTERVAL
) -> None:
    """Report to the core until cancelled; wait while it is not running."""
    while True:
        with suppress(OSError, EOFError, msgspec.MsgspecError):
            reader, writer = await asyncio.open_unix_connection(str(path))
            try:
                while True:
                    writer.write(_frame(_encode(metrics.take())))
                    await writer.drain()
                    for key, count in _decode_admitted(await _read_frame(reader)).items():
                        access.charge(key, count)
                    await asyncio.sleep(every)
            finally:
                writer.close()
        await asyncio.sleep(every)


def _frame(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > _MAX_FRAME:
        raise msgspec.DecodeError(f"{length} bytes")
    return await reader.readexactly(length)
