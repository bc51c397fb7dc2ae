"""Metadata as column expressions: maps from text to text, of which nearly all are missing."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis

from scoter.engine.portable import map_without

NONE = ibis.literal(None, type="map<string, string>")


def without(found: Any, key: str) -> Any:
    """Return a map without a key; one that does not have it is not built anew."""
    return (found.isnull() | ~found.contains(key)).ifelse(found, map_without(found, key))


def only(found: Any, wanted: Sequence[str]) -> Any:
    """Return a map with no other keys than these; nothing when it has none of them."""
    keys = found.keys().filter(lambda each: each.isin(list(wanted)))
    return (keys.length() > 0).ifelse(ibis.map(keys, keys.map(lambda each: found.get(each))), NONE)
