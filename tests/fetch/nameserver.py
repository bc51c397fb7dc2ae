"""A name server on loopback with answers set by the test: enough of RFC 1035 for a real resolver."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import cast

A, CNAME, SOA, AAAA = 1, 5, 6, 28
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, REFUSED = 0, 1, 2, 3, 5


@dataclass(frozen=True)
class Record:
    """A resource record; ``value`` is an address or, for a CNAME, a name."""

    name: str
    kind: int
    value: str
    ttl: int = 300

    def packed(self) -> bytes:
        data = encode_name(self.value) if self.kind == CNAME else ip_address(self.value).packed
        return encode_name(self.name) + struct.pack(">HHIH", self.kind, 1, self.ttl, len(data)) + data


@dataclass(frozen=True)
class Answer:
    """What is said to one question; ``silent`` says nothing, ``truncated`` says "ask me by TCP"."""

    records: tuple[Record, ...] = ()
    code: int = NOERROR
    silent: bool = False
    truncated: bool = False
    garbled: bool = False


Script = Callable[[str, int, int], Answer]
"""Given a name, a type and how often this was asked before, returns the answer."""


@dataclass
class Nameserver:
    """Answers by its script and keeps a ledger of what it was asked."""

    script: Script
    address: str = ""
    asked: list[tuple[str, int, str]] = field(default_factory=list)
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)

    def reply(self, query: bytes, by: str) -> bytes | None:
        name, end = decode_name(query, 12)
        kind = struct.unpack_from(">H", query, end)[0]
        before = sum(1 for asked in self.asked if asked == (name, kind, by))
        self.asked.append((name, kind, by))
        self.was_asked.set()
        answer = self.script(name, kind, before)
        if answer.silent:
            return None
        if answer.garbled:
            return query[:2] + b"\x81\x80\x00\x01\x00\x09\x00\x00\x00\x00\xc0\xc0"
        truncated = answer.truncated and by == "udp"
        records = () if truncated else answer.records
        flags = 0x8180 | answer.code | (0x0200 if truncated else 0)
        head = query[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0)
        return head + query[12 : end + 4] + b"".join(record.packed() for record in records)

    def questions(self, name: str, kind: int = A) -> int:
        return sum(1 for asked in self.asked if asked[:2] == (name, kind))


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: Nameserver) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The loop's own class of datagram transports does not inherit from this one, although it acts like it.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = self._server.reply(data, "udp")
        if reply is not None:
            self._transport.sendto(reply, addr)


@asynccontextmanager
async def nameserver(script: Script) -> AsyncIterator[Nameserver]:
    """Serve a script by UDP and TCP on one port of loopback."""
    server = Nameserver(script)

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                length = struct.unpack(">H", await reader.readexactly(2))[0]
                reply = server.reply(await reader.readexactly(length), "tcp")
                if reply is not None:
                    writer.write(struct.pack(">H", len(reply)) + reply)
        except asyncio.IncompleteReadError:
            writer.close()

    streams = await asyncio.start_server(converse, "127.0.0.1", 0)
    port = streams.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(server), ("127.0.0.1", port))
    server.address = f"127.0.0.1:{port}"
    try:
        yield server
    finally:
        transport.close()
        streams.close()


def encode_name(name: str) -> bytes:
    labels = [label.encode("ascii") for label in name.rstrip(".").split(".")]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def decode_name(packet: bytes, start: int) -> tuple[str, int]:
    labels = []
    while length := packet[start]:
        labels.append(packet[start + 1 : start + 1 + length].decode("ascii").lower())
        start += 1 + length
    return ".".join(labels), start + 1
