"""What a crawl and its parser process agree on: messages, and when the process has had too much memory.

A message is MessagePack with its length in front.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from scoter.core.page import Content
from scoter.parse.chain import Outcome

HEAD: Final = 8  # bytes of the length
READY: Final = bytes(HEAD)
"""What the process sends when it has started: a message of no length."""
MOST: Final = 128 * 1024 * 1024
"""Bytes of an answer; more is too much for the crawl's own memory."""

RETIRED: Final = 0.5
"""The share of its memory after which a process serves no more: the next content may need what the last one took."""


def most_memory(pid: int | str = "self") -> int:
    """Return the most address space that a process has had, in bytes; nothing where the system does not tell."""
    try:
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_bytes())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


_PEAK = re.compile(rb"VmPeak:\s*(\d+) kB")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be sent to another process")


_encoder = msgspec.msgpack.Encoder(enc_hook=_plain)
_contents = msgspec.msgpack.Decoder(Content)
_outcomes: msgspec.msgpack.Decoder[Outcome] = msgspec.msgpack.Decoder(Outcome)


def frame(message: Content | Outcome) -> bytes:
    """Return a message as it goes over the pipe."""
    body = _encoder.encode(message)
    return len(body).to_bytes(HEAD) + body


def content(body: bytes) -> Content:
    return _contents.decode(body)


def outcome(body: bytes) -> Outcome:
    """Read what the process sent. It is data and never code: a hostile page may have taken the process over."""
    return _outcomes.decode(body)
