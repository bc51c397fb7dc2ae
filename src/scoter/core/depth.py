"""Depth: how many links lie between a seed and a page, and where to stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.page import Outlink

SEED = 1
DEFAULT_MAX = 1000
DEPTH = "depth"
MAX_DEPTH = "max_depth"


class Depth(Struct, frozen=True):
    """A page's distance from its seed, and the largest that its seed allows."""

    depth: int = DEFAULT_MAX
    limit: int = DEFAULT_MAX


def distribute(page: Depth, targets: Sequence[Outlink], limit: int | None = None) -> Sequence[Outlink]:
    """Return the targets one step deeper, or none when the page stands at its limit.

    ``limit`` overrides the page's limit, for the page itself and for the targets, which inherit it.
    """
    most = page.limit if limit is None else limit
    if page.depth >= most:
        return ()
    below = {DEPTH: page.depth + 1, MAX_DEPTH: most}
    return [replace(link, extra={**link.extra, **below}) for link in targets]


def update(old: Depth | None, links: Iterable[Depth]) -> Depth | None:
    """Return the shortest way from a seed and the widest limit among what was known and what now points here.

    Nothing comes back when neither says anything.
    """
    known = [each for each in (old, *links) if each is not None]
    if not known:
        return None
    return Depth(min(each.depth for each in known), max(each.limit for each in known))


def sort_value(page: Depth, value: float) -> float:
    """Return how early a URL should be fetched: shallow pages first."""
    return value * (1 + page.limit - page.depth)
