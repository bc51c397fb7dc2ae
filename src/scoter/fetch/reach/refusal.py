"""What the guard says when it says no."""

from __future__ import annotations

from msgspec import Struct

from scoter.core.reply import Reason


class Refusal(Struct, frozen=True):
    """Why something is not asked for."""

    reason: Reason
    detail: str
