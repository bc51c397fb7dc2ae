"""Is this callback from the service?"""

from __future__ import annotations

import hmac
import re
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

import msgspec

from scoter.client.errors import ClientError
from scoter.client.records import Problem
from scoter.live.records import Event

_STAMP: Final = re.compile(r"[0-9]{1,12}", re.ASCII)


def verify(
    body: bytes, header: str, secret: str | bytes, now: datetime, tolerance: timedelta = timedelta(minutes=5)
) -> Event:
    """Return the event that a callback brings, if the service signed it and not long ago; else raise ``ClientError``.

    ``header`` is the value of ``Scoter-Signature``; ``body`` the bytes as they came, before anything read them. A
    delivery may come more than once: ``Scoter-Delivery`` tells.
    """
    stamps, signatures = [], []
    for part in header.split(","):
        name, _, value = part.strip().partition("=")
        if name == "t":
            stamps.append(value)
        elif name == "v1":
            signatures.append(value)
    if len(stamps) != 1 or not _STAMP.fullmatch(stamps[0]) or not signatures:
        raise _refused("It has no signature that can be read.")
    if abs(now.timestamp() - int(stamps[0])) > tolerance.total_seconds():
        raise _refused("It was signed too long ago, or the clocks differ.")
    key = secret.encode() if isinstance(secret, str) else secret
    expected = hmac.new(key, stamps[0].encode() + b"." + body, sha256).hexdigest().encode()
    # While the secret is changed a service may sign with both.
    if not any(hmac.compare_digest(expected, each.encode("utf-8", "replace")) for each in signatures):
        raise _refused("It was not signed with this secret.")
    try:
        return msgspec.json.decode(body, type=Event)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _refused(f"It is no event: {error}") from None


def _refused(why: str) -> ClientError:
    return ClientError(
        Problem(type="urn:scoter:problem:signature", title="The callback is not to be trusted.", detail=why)
    )
