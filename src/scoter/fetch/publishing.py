"""What publishers are told of a fetch: that it begins, how far it is, and how it ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from scoter.plugins import Publisher

_log = logging.getLogger(__name__)


class Publishing:
    """Tells every publisher; one that fails keeps no other from hearing, nor a fetch from going on."""

    def __init__(self, publishers: Sequence[Publisher]) -> None:
        self._publishers = tuple(publishers)
        self._is_unheard = False

    def tell(self, event: str, facts: dict[str, object]) -> None:
        for publisher in self._publishers:
            try:
                publisher.publish(event, facts)
            except Exception as error:
                if not self._is_unheard:
                    _log.warning("%s fails: %s: %s", type(publisher).__name__, type(error).__name__, error)
                self._is_unheard = True

    def close(self) -> None:
        """Close those that can be closed."""
        for publisher in self._publishers:
            close = getattr(publisher, "close", None)
            if close is None:
                continue
            try:
                close()
            except Exception as error:
                _log.warning("%s cannot be closed: %s: %s", type(publisher).__name__, type(error).__name__, error)
