"""What a page says about itself, cut to a size: a record is answered hundreds at a time, and kept for weeks."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from scoter.core.metadata import NOTHING, PageMetadata

_encode: Final = msgspec.json.Encoder().encode
_TEXTS: Final = frozenset({"title", "description", "site_name", "language", "type", "theme_color"})


def bounded(about: PageMetadata, most: int) -> PageMetadata:
    """Return metadata of at most so many bytes in JSON.

    What takes most room is cut first: half of a list, half of a text; what makes no sense in part goes whole.
    """
    if len(_encode(about)) <= most:
        return about
    sizes = {name: len(_encode(getattr(about, name))) for name in about.__struct_fields__ if name != "sources"}
    while len(_encode(about)) > most:
        name = max(sizes, key=lambda each: sizes[each])
        less = _less(name, getattr(about, name))
        sources = {field: source for field, source in about.sources.items() if field != name or less}
        about = replace(about, **{name: less}, sources=sources or NOTHING)
        sizes[name] = len(_encode(less)) if less else 0
        if not any(sizes.values()):
            break
    return about


def _less(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return value[: len(value) // 2]
    if isinstance(value, str):
        return value[: len(value) // 2] if name in _TEXTS else ""
    return None
