"""What is written of one page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from scoter.core.page import Outlink

Row: TypeAlias = tuple[Any, ...]


class PageRows(Struct, frozen=True):
    """What is written of one page; ``weight`` is about how many bytes."""

    data: Row
    text: Row | None
    links: Sequence[Outlink]
    weight: int = 0
