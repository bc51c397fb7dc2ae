"""URLs that an api has sent to Kafka twice.

If Kafka does not confirm in time, the client gets 503 and sends its message again. Kafka may have stored the first
copy, or store it later: the client of Kafka keeps trying for a while. Both copies are in the same partition.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from xxhash import xxh3_128_digest

from scoter.core.bounded import BoundedMap
from scoter.live.kafka.consumer import Place
from scoter.live.kafka.messages import AcceptedUrl, accepted_urls

_MOST: Final = 100_000
_NO_TIME: Final = datetime.min.replace(tzinfo=UTC)


class RepeatedUrls:
    """Recognises further copies of the URLs that a pipeline has received last."""

    def __init__(self, within: timedelta, most: int = _MOST) -> None:
        """Copies are at most ``within`` apart: so long is the ID of a message remembered."""
        self._within = within
        self._first: BoundedMap[bytes, tuple[Place, int, datetime]] = BoundedMap(most)

    def is_repeated(self, value: AcceptedUrl, place: Place, offset: int) -> bool:
        """Note a URL, and return whether an earlier message of its partition is the same."""
        # Everything counts but the time, which an api sets when it receives the message.
        key = xxh3_128_digest(accepted_urls.encode(msgspec.structs.replace(value, accepted=_NO_TIME)))
        first = self._first.get(key)
        if first is not None and first[0] == place and first[1] < offset and value.accepted - first[2] < self._within:
            return True
        # The first one, received again by a new owner, stays the first one.
        self._first.put(key, (place, offset, value.accepted))
        return False
