"""Metadata as column expressions: maps from text to text, of which any may be missing."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ibis

_TEXTS = "map<string, string>"

NONE = ibis.literal(None, type=_TEXTS)


@ibis.udf.scalar.builtin(name="map_concat", signature=((_TEXTS, _TEXTS), _TEXTS))  # type: ignore[untyped-decorator]
def _map_concat(under: Any, over: Any) -> Any: ...


def laid_over(under: Any, over: Any) -> Any:
    """Return one map over another: where both have a key, the value of ``over``."""
    # Nearly all maps are missing; what is not asked is not built.
    return ibis.cases((over.isnull(), under), (under.isnull(), over), else_=_map_concat(under, over))


def without(found: Any, key: str) -> Any:
    """Return a map without a key."""
    return (found.isnull() | ~found.contains(key)).ifelse(found, _kept(found, lambda each: each != key))


def only(found: Any, keys: Sequence[str]) -> Any:
    """Return a map with no other keys than these; nothing when it has none of them."""
    if not keys:
        return NONE
    kept = _kept(found, lambda each: each.isin(list(keys)))
    return (kept.length() > 0).ifelse(kept, NONE)


def _kept(found: Any, keeps: Callable[[Any], Any]) -> Any:
    keys = found.keys().filter(keeps)
    return ibis.map(keys, keys.map(lambda each: found[each]))
