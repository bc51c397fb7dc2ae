"""Verify that a callback comes from the service."""

from __future__ import annotations

import hmac
import re
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

import msgspec

from scoter.client.errors import ClientError, local_problem
from scoter.live.records import Event

_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}", re.ASCII)


def verify(
    body: bytes, header: str, secret: str | bytes, now: datetime, tolerance: timedelta = timedelta(minutes=5)
) -> Event:
    """Return the event of a callback; raise ``ClientError`` unless the service signed it recently.

    ``header`` is the value of ``Scoter-Signature``, ``body`` the bytes as received. A delivery may arrive more than
    once: ``Scoter-Delivery`` identifies it.
    """
    timestamps, signatures = [], []
    for part in header.split(","):
        name, _, value = part.strip().partition("=")
        if name == "t":
            timestamps.append(value)
        elif name == "v1":
            signatures.append(value)
    if len(timestamps) != 1 or not _TIMESTAMP.fullmatch(timestamps[0]) or not signatures:
        raise _untrusted("It has no readable signature.")
    if abs(now.timestamp() - int(timestamps[0])) > tolerance.total_seconds():
        raise _untrusted("It was signed too long ago, or the clocks differ.")
    key = secret.encode() if isinstance(secret, str) else secret
    expected = hmac.new(key, timestamps[0].encode() + b"." + body, sha256).hexdigest().encode()
    # During a change of the secret a service may sign with both.
    if not any(hmac.compare_digest(expected, each.encode("utf-8", "replace")) for each in signatures):
        raise _untrusted("It was not signed with this secret.")
    try:
        return msgspec.json.decode(body, type=Event)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _untrusted(f"It is not an event: {error}") from None


def _untrusted(why: str) -> ClientError:
    return ClientError(local_problem("The callback cannot be trusted.", why, kind="urn:scoter:problem:signature"))
