"""What a request carries along of its URL's record, so that the answer can be written down beside it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from msgspec import Struct

from scoter.core.datum import EPOCH, CrawlDatum, DbStatus, later
from scoter.core.page import EMPTY


class Known(Struct, frozen=True, array_like=True):
    """The record of a URL as it was generated; times in microseconds since the epoch.

    ``hops`` counts the redirects that led here within this run, ``steps`` the links followed within it.
    """

    modified: int | None = None
    retries: int = 0
    interval: int = 0
    score: float = 0.0
    metadata: dict[str, str] | None = None
    extra: dict[str, Any] | None = None
    hops: int = 0
    steps: int = 0

    def datum(self) -> CrawlDatum:
        """Return what scoring looks at."""
        return CrawlDatum(
            status=DbStatus.UNFETCHED,
            modified_time=None if self.modified is None else later(EPOCH, timedelta(microseconds=self.modified)),
            retries=self.retries,
            interval=timedelta(seconds=self.interval),
            score=self.score,
            metadata=self.metadata or EMPTY,
            extra=self.extra or EMPTY,
        )


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Known)
encode = _encoder.encode
decode = _decoder.decode
