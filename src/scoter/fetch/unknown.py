"""What stands where a site's rules would, when they could not be had."""

from __future__ import annotations

from msgspec import Struct

from scoter.core.reply import Reason


class Unknown(Struct, frozen=True):
    """Why there are no rules, and so no fetching."""

    reason: Reason
    detail: str
